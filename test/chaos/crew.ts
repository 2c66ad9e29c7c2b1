/**
 * The members of a run. Each is a process with its own connection to the store. A process that has
 * died is started again under the same id.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnScript, type ScriptEvent, type ScriptProcess } from '@incumbent/test-support';
import type { Who } from './history.ts';
import { Hub, type Order } from './hub.ts';
import type { Recorder } from './recorder.ts';
import type { Site, Way } from './site/site.ts';
import { read } from './told.ts';

const MEMBER = new URL('./member/member.ts', import.meta.url);
const READY_MS = 60_000;
const LEAVE_MS = 30_000;

/** Returns the environment with which a process reads its wall clock's offset from a file. */
type FakeClock = (offsetFile: string) => Readonly<Record<string, string>>;

export interface CrewOptions {
  readonly site: Site;
  readonly recorder: Recorder;
  readonly size: number;
  readonly ttlMs: number;
  /** The folder of the clocks' files. */
  readonly folder: string;
  readonly fakeClock: FakeClock | undefined;
  /** Additional environment variables of each process. */
  readonly env: Readonly<Record<string, string>>;
}

/** What a member reports about the store when it opens it. */
export interface StoreReport {
  readonly endsEarly: string | undefined;
  readonly expiresWithinMs: number;
}

export class Crew implements AsyncDisposable {
  readonly members: readonly CrewMember[];
  readonly #hub: Hub;

  private constructor(members: readonly CrewMember[], hub: Hub) {
    this.members = members;
    this.#hub = hub;
  }

  static async open(options: CrewOptions): Promise<Crew> {
    const { site, recorder, size } = options;
    const members: CrewMember[] = [];
    const hub = await Hub.open(recorder, (pid) => members.find((member) => member.pid === pid)?.who ?? `pid ${pid}`);
    mkdirSync(options.folder, { recursive: true });
    for (let index = 0; index < size; index += 1) members.push(new CrewMember(`m${index + 1}`, await site.openWay(index), hub, options));
    return new Crew(members, hub);
  }

  /** Starts all members. Resolves with the properties of the store. */
  async start(): Promise<StoreReport> {
    const told = await Promise.all(this.members.map((member) => member.start()));
    const [first] = told;
    if (first === undefined) throw new RangeError('a crew of nobody');
    return first;
  }

  /**
   * The member that reported last, and in the highest term, that it leads. Undefined if it has
   * reported the end since.
   */
  get leader(): CrewMember | undefined {
    return this.members.filter((member) => member.leads !== undefined).toSorted((a, b) => Number((b.leads ?? 0n) - (a.leads ?? 0n)))[0];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.members.map((member) => member.kill()));
    await this.#hub[Symbol.asyncDispose]();
  }
}

/** One member, through all its processes. */
export class CrewMember {
  readonly id: string;
  readonly way: Way;
  /** The term in which it leads, as it reports. */
  leads: bigint | undefined;
  readonly #options: CrewOptions;
  readonly #hub: Hub;
  readonly #clockFile: string;
  #life = 0;
  #script: ScriptProcess | undefined;
  #wanted = true;

  constructor(id: string, way: Way, hub: Hub, options: CrewOptions) {
    this.id = id;
    this.way = way;
    this.#hub = hub;
    this.#options = options;
    this.#clockFile = join(options.folder, `${id}.clock`);
  }

  get who(): Who {
    return `${this.id}#${this.#life}`;
  }

  get pid(): number | undefined {
    return this.#script?.pid;
  }

  get running(): boolean {
    return this.#script?.running === true;
  }

  async start(): Promise<StoreReport> {
    const { recorder, fakeClock, ttlMs, env } = this.#options;
    this.#life += 1;
    const { who } = this;
    this.setClock(0);
    this.#wanted = false;
    const startedAt = process.hrtime.bigint();
    const script = await spawnScript(MEMBER, {
      args: [this.way.url, this.id, String(ttlMs), String(this.#hub.port)],
      env: { ...env, ...fakeClock?.(this.#clockFile) },
      onEvent: (event) => this.#take(who, event),
    });
    this.#script = script;
    recorder.add({ type: 'started', at: recorder.now(), who });
    void this.#bury(who, script);
    const { at, fields } = await script.waitFor('ready', { withinMs: READY_MS });
    if (at < startedAt || at > process.hrtime.bigint())
      throw new Error(`${who} does not share this process's clock: its stamps are worth nothing`);
    const endsEarly = fields['endsEarly'];
    return { endsEarly: typeof endsEarly === 'string' ? endsEarly : undefined, expiresWithinMs: Number(fields['expiresWithinMs']) };
  }

  order(order: Order): boolean {
    return this.#hub.order(this.who, order);
  }

  holdWrites(): () => void {
    return this.#hub.hold(this.who);
  }

  /** Sets its wall clock off by this many seconds. The process notices within two seconds. */
  setClock(offsetS: number): void {
    writeFileSync(this.#clockFile, `${offsetS < 0 ? '' : '+'}${offsetS}\n`);
  }

  pause(): void {
    this.#script?.sigstop();
  }

  resume(): void {
    this.#script?.sigcont();
  }

  async kill(): Promise<void> {
    this.#wanted = true;
    this.leads = undefined;
    this.#script?.sigkill();
    await this.#script?.exited;
  }

  /** Ends it in good order. Records a process that takes too long as one that has not left. */
  async leave(): Promise<void> {
    const script = this.#script;
    if (script === undefined || !script.running) return;
    this.#wanted = true;
    script.sigterm();
    const late = setTimeout(() => {
      this.#wanted = false;
      script.sigkill();
    }, LEAVE_MS);
    await script.exited;
    clearTimeout(late);
  }

  async #bury(who: Who, script: ScriptProcess): Promise<void> {
    const { recorder } = this.#options;
    await script.exited;
    if (this.#script === script) this.leads = undefined;
    recorder.add({ type: 'died', at: recorder.now(), who, wanted: this.#wanted, output: [...script.output] });
  }

  #take(who: Who, event: ScriptEvent): void {
    const taken = read(event, who, (ns) => this.#options.recorder.at(ns));
    if (taken === undefined) return;
    this.#options.recorder.add(taken);
    if (taken.type === 'elected' && who === this.who) this.leads = taken.term;
    if (taken.type === 'ended' && this.leads === taken.term) this.leads = undefined;
  }
}
