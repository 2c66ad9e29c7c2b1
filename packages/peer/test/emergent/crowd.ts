/**
 * A hundred members of an open membership over the memory transport, by seed. They join, some fail,
 * a partition splits the rest in three, each side finds its coordinator, and the sides merge. Runs
 * the production driver on one manual clock.
 */

import { Scheduler, SimProcess, streamOf, type Stream } from '@incumbent/simulator/time';
import { Driver } from '../../src/driver.ts';
import { emergent, MemoryNetwork, type EmergentMessage, type EmergentOptions, type Link, type PeerMembership } from '../../src/index.ts';

export interface CrowdOutcome {
  readonly seed: number;
  /** What went wrong, and after which phase. Empty: nothing. */
  readonly problems: readonly string[];
  readonly messages: number;
  /** How long each phase took, in failure timeouts. */
  readonly joined: number;
  readonly failed: number;
  readonly split: number;
  readonly merged: number;
}

interface Member {
  readonly id: string;
  readonly process: SimProcess;
  readonly driver: Driver<'bestEffort'>;
  membership: PeerMembership | undefined;
  link: Link | undefined;
  up: boolean;
}

const HEARTBEAT_MS = 100;
const TIMEOUT_MS = 500;
/** The longest time for each phase, in failure timeouts. */
const BOUND = 30;

export async function crowd(seed: number, size = 100, options: Partial<EmergentOptions> = {}): Promise<CrowdOutcome> {
  const world = new Crowd(seed, size, options);
  await world.open();
  return world.play();
}

class Crowd {
  readonly #seed: number;
  readonly #random: Stream;
  readonly #scheduler: Scheduler;
  readonly #network: MemoryNetwork;
  readonly #members: readonly Member[];
  readonly #problems: string[] = [];
  #messages = 0;

  constructor(seed: number, size: number, options: Partial<EmergentOptions>) {
    this.#seed = seed;
    this.#random = streamOf(seed, 'crowd');
    this.#scheduler = new Scheduler(streamOf(seed, 'order'));
    const wire = new SimProcess('wire', 1, this.#scheduler, { rate: 1, random: streamOf(seed, 'wire') });
    const ids = Array.from({ length: size }, (_, i) => `m${String(i).padStart(3, '0')}`);
    this.#network = new MemoryNetwork({
      clock: wire,
      latencyMs: 1 + this.#random.below(10),
      seeds: ids.slice(0, 1 + this.#random.below(3)),
    });
    const rules = {
      cluster: 'crowd',
      heartbeatEveryMs: HEARTBEAT_MS,
      failureTimeoutMs: TIMEOUT_MS,
      heartbeatsTo: this.#random.pick([2, 3, 5]),
    };
    const algorithm = emergent({ ...rules, ...options });
    this.#members = ids.map((id) => this.#member(id, algorithm));
  }

  #member(id: string, algorithm: ReturnType<typeof emergent>): Member {
    const process = new SimProcess(id, 1, this.#scheduler, { rate: 1, random: streamOf(this.#seed, id) });
    const now = { monotonicMs: process.monotonic(), wallMs: process.wall() };
    const first = algorithm.start({ memberId: id, now, seed: streamOf(this.#seed, 'chance', id).u32(), durable: undefined });
    const { configuration } = algorithm;
    const driver: Driver<'bestEffort'> = new Driver<'bestEffort'>(algorithm, first, {
      clock: process,
      position: () => ({ lastTerm: 0n, lastIndex: 0n }),
      send: (to, message, at) => {
        this.#messages += 1;
        member.link?.send(to, { configuration, message }, algorithm.sortOf(message as EmergentMessage), at);
      },
      persist: () => {},
      elected: () => {},
      ended: (reason) => {
        if (reason !== 'merged') this.#problems.push(`${id} ended: ${reason}`);
        process.schedule(10, () => {
          driver.command({ type: 'release', to: undefined });
          driver.command({ type: 'campaign' });
        });
      },
      viewed: () => {},
      conflict: (conflict) => void this.#problems.push(`${id}: ${conflict.code}`),
      membership: (membership) => {
        member.membership = membership;
      },
      failed: (why) => void this.#problems.push(`${id} failed: ${why}`),
    });
    const member: Member = { id, process, driver, membership: undefined, link: undefined, up: true };
    return member;
  }

  async open(): Promise<void> {
    for (const member of this.#members) {
      const startMs = this.#random.below(this.#seed % 2 === 0 ? 50 : 3_000);
      member.link = await this.#network.open({
        memberId: member.id,
        members: 'open',
        receive: (from, { message }) => member.driver.receive(from, message),
        found: (self, seeds) => {
          member.process.schedule(startMs, () => {
            member.driver.command({ type: 'campaign' });
            member.driver.command({ type: 'seeds', self, seeds });
          });
        },
      });
    }
  }

  play(): CrowdOutcome {
    const joined = this.#until('join', [this.#members]);
    const failing = this.#members.filter(() => this.#random.chance(0.1));
    for (const member of failing) this.#kill(member);
    const rest = this.#members.filter(({ up }) => up);
    const failed = this.#until('fail', [rest]);
    const sides = [...Map.groupBy(rest, () => this.#random.below(3)).values()];
    for (const side of sides) for (const other of sides) if (side !== other) this.#cut(side, other);
    const split = this.#until('split', sides);
    this.#network.heal();
    const merged = this.#until('merge', [rest]);
    return { seed: this.#seed, problems: this.#problems, messages: this.#messages, joined, failed, split, merged };
  }

  #kill(member: Member): void {
    member.up = false;
    member.process.kill();
    member.driver.stop();
  }

  #cut(side: readonly Member[], other: readonly Member[]): void {
    for (const one of side) for (const two of other) this.#network.cut(one.id, two.id);
  }

  /**
   * Waits until each of these sides has one coordinator, which alone leads, and the same version
   * everywhere.
   */
  #until(phase: string, sides: readonly (readonly Member[])[]): number {
    const sinceMs = this.#scheduler.nowMs;
    while (this.#scheduler.nowMs < sinceMs + BOUND * TIMEOUT_MS) {
      if (sides.every((side) => disagreement(side) === undefined)) return (this.#scheduler.nowMs - sinceMs) / TIMEOUT_MS;
      const untilMs = this.#scheduler.nowMs + HEARTBEAT_MS / 2;
      let over = false;
      this.#scheduler.at(untilMs, () => {
        over = true;
      });
      while (!over && this.#scheduler.step());
    }
    this.#problems.push(`${phase}: ${sides.map(disagreement).find((what) => what !== undefined) ?? 'at last'}`);
    return BOUND;
  }
}

function disagreement(side: readonly Member[]): string | undefined {
  const [first] = side;
  const membership = first?.membership;
  if (membership === undefined) return `${first?.id} has no list`;
  if (membership.members.length !== side.length) return `${membership.members.length} members of ${side.length}`;
  const odd = side.find(
    (member) => member.membership?.version !== membership.version || member.membership.coordinator !== membership.coordinator,
  );
  if (odd !== undefined) return `${odd.id} has version ${odd.membership?.version}, and not ${membership.version}`;
  const leaders = side.filter(({ driver }) => driver.isValid()).map(({ id }) => id);
  return leaders.length === 1 && leaders[0] === membership.coordinator ? undefined : `led by ${leaders.join(', ')}`;
}

if (import.meta.main) {
  const [first = '1', count = '10', heartbeatsTo] = process.argv.slice(2);
  const begun = performance.now();
  const most = { joined: 0, failed: 0, split: 0, merged: 0, messages: 0 };
  let problems = 0;
  for (let seed = Number(first); seed < Number(first) + Number(count); seed += 1) {
    const outcome = await crowd(seed, 100, heartbeatsTo === 'all' ? { heartbeatsTo } : {});
    for (const name of ['joined', 'failed', 'split', 'merged', 'messages'] as const) most[name] = Math.max(most[name], outcome[name]);
    problems += outcome.problems.length;
    for (const problem of outcome.problems) console.log(seed, problem);
  }
  console.log(JSON.stringify({ seeds: Number(count), problems, most, seconds: Math.round((performance.now() - begun) / 1_000) }));
  process.exitCode = problems > 0 ? 1 : 0;
}
