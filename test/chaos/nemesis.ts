/** Carries out a plan of faults, and heals. It does not know what the faults do. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { CrewMember } from './crew.ts';
import type { Fault, Mend } from './faults/fault.ts';
import type { FaultEvent } from './history.ts';
import type { Round, Step } from './plan.ts';
import type { Recorder } from './recorder.ts';
import type { Site } from './site/site.ts';

export interface NemesisOptions {
  readonly site: Site;
  readonly crew: { readonly members: readonly CrewMember[]; readonly leader: CrewMember | undefined };
  readonly recorder: Recorder;
  readonly faults: readonly Fault[];
  readonly random: () => number;
  /** Reports a problem to people, such as a server that does not come back. */
  readonly complain: (problem: string) => void;
}

/** How long it may take to find out which server leads, in ms. */
const LEADER_MS = 2_000;

/** What one fault at a time may hit: a member, a server, or the store as a whole. */
interface Target {
  readonly name: string;
  /** Whether the effect lasts until it is repaired. */
  readonly lasts: boolean;
  readonly begin: () => Promise<Mend | undefined>;
}

export class Nemesis {
  readonly #options: NemesisOptions;
  readonly #faults: ReadonlyMap<string, Fault>;
  readonly #busy = new Set<string>();
  readonly #under = new Set<Promise<void>>();
  #calm = new AbortController();

  constructor(options: NemesisOptions) {
    this.#options = options;
    this.#faults = new Map(options.faults.map((fault) => [fault.name, fault]));
  }

  /**
   * One storm, from its first fault to the repair of the last one. All faults have ended when it
   * resolves.
   */
  async storm({ stormMs, steps }: Round): Promise<void> {
    const { recorder } = this.#options;
    this.#calm = new AbortController();
    const began = recorder.now();
    for (const step of steps) {
      await this.#until(began + step.at);
      const done = this.#inject(step).catch((error: unknown) => this.#options.complain(`${step.fault}: ${String(error)}`));
      this.#under.add(done);
      void done.then(() => this.#under.delete(done));
    }
    await this.#until(began + stormMs);
    this.#calm.abort();
    await Promise.all(this.#under);
  }

  async #until(at: number): Promise<void> {
    await sleep(Math.max(0, at - this.#options.recorder.now()));
  }

  /** From the beginning of one fault to its end, or to the calm. */
  async #inject(step: Step): Promise<void> {
    const target = await this.#targetOf(step);
    if (target === undefined) return this.#tell(step, 'nobody', 'missed');
    this.#busy.add(target.name);
    try {
      this.#tell(step, target.name, 'begins');
      const mend = await target.begin().catch(() => undefined);
      if (mend === undefined) return this.#tell(step, target.name, 'missed');
      this.#tell(step, target.name, 'hit');
      if (target.lasts) await sleep(step.for, undefined, { signal: this.#calm.signal }).catch(() => {});
      await this.#repair(step, target.name, mend);
      this.#tell(step, target.name, 'ends');
    } finally {
      this.#busy.delete(target.name);
    }
  }

  /** Records a failed repair. Otherwise a member that does not come back would pass unnoticed. */
  async #repair({ fault }: Step, target: string, mend: Mend): Promise<void> {
    const { recorder, complain } = this.#options;
    try {
      await mend();
    } catch (error) {
      recorder.add({ type: 'unrepaired', at: recorder.now(), fault, target, error: String(error) });
      complain(`${fault}: ${String(error)}`);
    }
  }

  #tell({ id, fault }: Step, target: string, what: FaultEvent['what']): void {
    const { recorder } = this.#options;
    recorder.add({ type: 'fault', at: recorder.now(), id, fault, target, what });
  }

  async #targetOf(step: Step): Promise<Target | undefined> {
    const fault = this.#faults.get(step.fault);
    const { site, random } = this.#options;
    switch (fault?.on) {
      case undefined:
        return undefined;
      case 'member': {
        const member = this.#member(step);
        return member === undefined ? undefined : { name: member.id, lasts: true, begin: () => fault.begin(member, step.for, random) };
      }
      case 'server': {
        const index = await this.#server(step, fault.only?.(site));
        const server = index === undefined ? undefined : site.servers[index];
        if (index === undefined || server === undefined) return undefined;
        return { name: serverName(index), lasts: true, begin: () => fault.begin(server, site, index, random) };
      }
      case 'store': {
        const { target: name } = fault;
        return this.#busy.has(name) ? undefined : { name, lasts: false, begin: () => fault.begin(site, () => this.#calm.signal.aborted) };
      }
      default:
        return fault satisfies undefined;
    }
  }

  /** The leader, or the first free member from a number on. */
  #member({ aim }: Step): CrewMember | undefined {
    const { crew } = this.#options;
    const free = crew.members.filter(({ id }) => !this.#busy.has(id));
    const leader = crew.leader;
    if (aim === 'leader' && leader !== undefined && free.includes(leader)) return leader;
    if (aim === 'follower') return free.find((member) => member !== leader);
    return free[aim === 'leader' ? 0 : aim % free.length];
  }

  /**
   * With three servers, two may be faulty at the same time: then there is no quorum. A fault of all
   * three at once would test nothing.
   */
  async #server({ aim }: Step, only: number | undefined): Promise<number | undefined> {
    const { servers } = this.#options.site;
    const free = servers.flatMap((_, index) => (this.#busy.has(serverName(index)) ? [] : [index]));
    if (this.#busy.has('servers') || (servers.length > 1 && free.length < servers.length - 1)) return undefined;
    if (only !== undefined) return free.includes(only) ? only : undefined;
    if (typeof aim === 'number') return free[aim % free.length];
    const leader = await this.#leadingServer();
    return leader !== undefined && free.includes(leader) ? leader : free[0];
  }

  async #leadingServer(): Promise<number | undefined> {
    const late = new AbortController();
    const asked = this.#options.site.leader().catch(() => undefined);
    const answer = await Promise.race([asked, sleep(LEADER_MS, undefined, { signal: late.signal }).catch(() => {})]);
    late.abort();
    return answer ?? undefined;
  }
}

export function serverName(index: number): string {
  return `s${index + 1}`;
}
