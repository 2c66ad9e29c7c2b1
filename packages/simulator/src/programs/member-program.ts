/**
 * The default program of a member. It campaigns, leads, writes, publishes, resigns, hands over,
 * fails, gives up and joins a group at random until the storm is over. After the storm, a leader
 * keeps leading.
 */

import {
  byMemberId,
  byPriority,
  type Election,
  firstComeFirstServed,
  type Group,
  isIncumbentError,
  type Leadership,
  Member,
  rendezvous,
  type Succession,
} from '@incumbent/core';
import type { Order } from '../plan/plan.ts';
import type { ProgramContext } from './program.ts';
import { TABLES } from '../world/election-tracker.ts';

/** The name of the first election of every world. Further elections have a number. */
export const ELECTION = 'jobs';
const GROUP = 'all';

/** `n` rises with each value that a process publishes, so no value appears twice in a term. */
export type Value = { readonly from: string; readonly n: number };

/** The succession that this member uses. */
function successionOf(order: Order, index: number): Succession {
  switch (order) {
    case 'arrival':
      return firstComeFirstServed();
    case 'priority':
      return byPriority(index, { rebalance: true });
    case 'rendezvous':
      return rendezvous();
    case 'disagree':
      return byMemberId('some', index % 2 === 0 ? (a, b) => (a < b ? -1 : Number(a > b)) : (a, b) => (a > b ? -1 : Number(a < b)));
    default:
      return order satisfies never;
  }
}

/** Errors that calls may end with while faults happen. */
const EXPECTED = [
  'MEMBER_CLOSED',
  'DUPLICATE_MEMBER',
  'LEADERSHIP_ENDED',
  'NO_SUCH_CANDIDATE',
  'HANDOVER_FAILED',
  'OBSERVER_CLOSED',
  'PERMISSION_DENIED',
] as const;

/** A timer may fire slightly early, like the clocks that it is measured by. */
const DRAINED = 0.98;

export async function memberProgram(self: ProgramContext): Promise<void> {
  const { ttlMs, order } = self.shape;
  const { memberId, store } = self;
  let claimUnknown = (): void => {};
  const warn = (fields: object, message: string): void => {
    self.logger.warn(fields, message);
    if ('doing' in fields && fields.doing === 'claiming') claimUnknown();
  };
  const logger = { ...self.logger, warn };
  const member = new Member(store, { ...self.options, rebalanceEveryMs: Math.max(ttlMs, 100), logger });
  const value: Value = { from: memberId, n: 0 };
  const workIn = (name: string): ElectionWork =>
    new ElectionWork(self, member, member.election<Value>(name, { value, succession: successionOf(order, Number(memberId.slice(1))) }));
  const job = workIn(ELECTION);
  const further = Array.from({ length: (self.shape.elections ?? 1) - 1 }, (_, i) => workIn(`${ELECTION}-${i + 2}`));
  claimUnknown = () => job.claimUnknown();
  const stopped = Promise.withResolvers<void>();
  self.stopping.addEventListener('abort', () => stopped.resolve(), { once: true });
  const running = Promise.all([
    job.campaign(stopped.promise),
    job.join(member.group(GROUP, { value }), stopped.promise),
    ...further.map((other) => other.campaign(stopped.promise)),
  ]);
  await Promise.race([stopped.promise, job.replaced]);
  await self.measureClose(() => (job.dice(2) ? member.close() : member.shutdown()));
  stopped.resolve();
  await running;
  await job.settled();
  for (const other of further) await other.settled();
}

/** The work of a member in one election. */
class ElectionWork {
  readonly #self: ProgramContext;
  readonly #member: Member;
  readonly #election: Election<Value>;
  readonly #replaced = Promise.withResolvers<void>();
  readonly #works = new Set<Promise<void>>();
  #stop = false;
  #hasStoppedCampaigning = false;
  #campaign = new AbortController();
  /** The leadership whose work has reported itself that it has stopped. */
  #stoppedItself: Leadership<Value> | undefined;
  #writes = 0;

  constructor(self: ProgramContext, member: Member, election: Election<Value>) {
    this.#self = self;
    this.#member = member;
    this.#election = election;
  }

  /** Resolves when another process has taken this member's id for good. */
  get replaced(): Promise<void> {
    return this.#replaced.promise;
  }

  get #index(): number {
    return Number(this.#self.memberId.slice(1));
  }

  /**
   * Whether this is the first election. Only this election reports what the store should contain,
   * and for whom.
   */
  get #isFirst(): boolean {
    return this.#election.name === ELECTION;
  }

  /** The outcome of a claim is unknown. Sometimes the caller gives up at this moment. */
  claimUnknown(): void {
    if (this.#restless(2)) this.#campaign.abort(new CampaignAborted());
  }

  /** True in one of `sides` cases. */
  dice(sides: number): boolean {
    return this.#self.random.u32() % sides === 0;
  }

  /** Campaigns repeatedly until it is stopped. */
  async campaign(stopped: Promise<void>): Promise<void> {
    void stopped.then(() => {
      this.#stop = true;
    });
    while (!this.#stop && !this.#hasStoppedCampaigning && this.#member.state !== 'closed') {
      await this.#tryTo(() => this.#leadOrCampaign(), stopped);
      await this.#nap(1 + this.#below(300), stopped);
    }
  }

  /** Resolves when none of its work runs. */
  async settled(): Promise<void> {
    await Promise.all(this.#works);
  }

  async join(group: Group<Value>, stopped: Promise<void>): Promise<void> {
    const stop = group.subscribe((members) => this.#self.report({ type: 'groupMembers', ids: members.map(({ memberId }) => memberId) }));
    await this.#untilJoined(group, stopped);
    while (!this.#stop && this.#member.state !== 'closed' && !this.#self.calm) {
      await this.#nap(this.#below(4 * this.#self.shape.ttlMs), stopped);
      if (this.#self.calm || this.#stop || !this.#restless(4)) continue;
      await this.#tryTo(async () => {
        await group.leave();
        await this.#nap(this.#below(this.#self.shape.ttlMs), stopped);
      }, stopped);
      await this.#untilJoined(group, stopped);
    }
    if (!this.#stop && this.#member.state !== 'closed' && this.dice(4)) {
      await group.leave();
      this.#self.report({ type: 'leftGroup' });
    }
    await stopped;
    stop();
  }

  /** Tries to join until it succeeds. Then the SDK keeps the member in the group. */
  async #untilJoined(group: Group<Value>, stopped: Promise<void>): Promise<void> {
    let joined = false;
    while (!joined && !this.#stop && this.#member.state !== 'closed') {
      await this.#tryTo(async () => {
        await group.join();
        joined = true;
      }, stopped);
      if (!joined) await this.#nap(1 + this.#below(300), stopped);
    }
  }

  /** True in one of `sides` cases, more often the more restless leaders are. */
  #restless(sides: number): boolean {
    const { calm, shape, random } = this.#self;
    return !calm && random.u32() < (shape.unrest / sides) * 2 ** 32;
  }

  async #tryTo(task: () => Promise<unknown>, stopped: Promise<void>): Promise<void> {
    try {
      await task();
    } catch (error) {
      if (error instanceof CampaignAborted) return this.#stopCampaigning();
      if (!isIncumbentError(error, ...EXPECTED)) return this.#self.reportError(error);
      if (!isIncumbentError(error, 'DUPLICATE_MEMBER')) return;
      // This process was replaced: its id is not free again while the other process lives. If the
      // process started while the lease of the former one still existed, that lease ends in time.
      if (error.details.waitedMs === 0) this.#replaced.resolve();
      await this.#nap(this.#self.shape.ttlMs, Promise.race([stopped, this.replaced]));
    }
  }

  /**
   * Stops campaigning, sometimes for good. Nothing of the member may then block others. At least
   * two members continue.
   */
  #stopCampaigning(): void {
    if (this.#hasStoppedCampaigning || !this.#isFirst || this.#index <= 2 || !this.dice(2)) return;
    this.#hasStoppedCampaigning = true;
    this.#self.report({ type: 'stoppedCampaigning' });
  }

  async #leadOrCampaign(): Promise<void> {
    const abort = (this.#campaign = new AbortController());
    const { clock, shape } = this.#self;
    const later = (): void => (this.#self.calm ? undefined : abort.abort(new CampaignAborted()));
    const cancel = this.#restless(2) ? clock.schedule(this.#below((this.dice(2) ? 1 : 6) * shape.ttlMs), later) : () => {};
    try {
      if (this.dice(4)) await this.#campaignOnce(abort.signal);
      else await this.#election.lead((leadership) => this.#lead(leadership), { signal: abort.signal });
    } finally {
      cancel();
    }
  }

  async #campaignOnce(signal: AbortSignal): Promise<void> {
    const leadership = await this.#election.campaign({ signal });
    const waits = this.dice(2);
    const work = this.#lead(leadership, waits);
    if (waits) leadership.waitUntil(work);
    await work.catch(() => {});
    await leadership.resign();
  }

  async #lead(leadership: Leadership<Value>, waits = true): Promise<void> {
    const term = this.#term(leadership, waits);
    const settled = term.catch(() => {}).then(() => void this.#works.delete(settled));
    this.#works.add(settled);
    await term;
  }

  /** The work of one term. Returning resigns. */
  async #term(leadership: Leadership<Value>, waits: boolean): Promise<void> {
    const report = this.#self.reportLeadership(leadership, this.#election.name, waits);
    let runs = true;
    if (waits) void this.#drains(leadership, () => runs);
    try {
      await this.#work(leadership);
    } finally {
      if (!leadership.isValid()) await this.#nap(this.#below(Math.max(this.#self.shape.drainMs, 1)));
      runs = false;
      report.workStopped();
    }
  }

  /**
   * If something other than the work ends the leadership, the end waits for the work for as long as
   * it was announced.
   */
  async #drains(leadership: Leadership<Value>, runs: () => boolean): Promise<void> {
    const { clock } = this.#self;
    const { reason, drainMs } = await leadership.ended;
    const fromMs = clock.monotonic();
    await leadership.released;
    const tookMs = clock.monotonic() - fromMs;
    const isGivenUp = reason === 'resigned' || reason === 'handover';
    if (isGivenUp && runs() && this.#stoppedItself !== leadership && tookMs < drainMs * DRAINED)
      this.#self.reportError(new Error(`given up and released within ${tookMs} of ${drainMs} ms, and its work runs`));
  }

  async #work(leadership: Leadership<Value>): Promise<void> {
    const { ttlMs } = this.#self.shape;
    if (this.#restless(8)) this.#endAtOnce(leadership);
    while (leadership.isValid()) {
      await this.#nap(this.#below(this.#self.calm ? ttlMs : ttlMs / 2), leadership.ended);
      if (!leadership.isValid()) return;
      if (!this.#restless(6)) await this.#write(leadership);
      else if (await this.#leave(leadership)) return;
    }
  }

  async #write(leadership: Leadership<Value>): Promise<void> {
    this.#writes += 1;
    const which = this.#below(4);
    try {
      if (!this.#isFirst) await (which === 0 ? leadership.swap([]) : leadership.publish({ from: this.#self.memberId, n: this.#writes }));
      else if (which === 0) await this.#guarded(leadership);
      else if (which === 1) await this.#unguarded(leadership);
      else if (which === 2) await this.#publish(leadership, { from: this.#self.memberId, n: this.#writes });
      else await this.#fenced(leadership);
    } catch (error) {
      if (isIncumbentError(error, 'LEADERSHIP_ENDED')) this.#self.reportRefused('guarded', leadership.term);
      else if (!isIncumbentError(error)) throw error;
    }
  }

  async #publish(leadership: Leadership<Value>, value: Value): Promise<void> {
    // If two values are published at once, the later one counts.
    const before = this.dice(3) ? leadership.publish({ ...value, n: value.n - 0.5 }) : undefined;
    await Promise.all([before, leadership.publish(value)]);
    this.#self.report({ type: 'published', term: leadership.term, value });
  }

  async #guarded(leadership: Leadership<Value>): Promise<void> {
    const change = await this.#change(TABLES.guarded, leadership.term);
    await leadership.swap([change]);
  }

  /** Writes like careless code that relies on an earlier `isValid()`. */
  async #unguarded(leadership: Leadership<Value>): Promise<void> {
    leadership.assertValid();
    const change = await this.#change(TABLES.unguarded, leadership.term);
    await this.#self.store.compareAndSwap([change], { timeoutMs: this.#self.shape.ttlMs });
  }

  async #change(key: string, term: bigint): Promise<{ key: string; expect: string | null; put: Uint8Array }> {
    const current = await this.#self.store.read(key, { timeoutMs: this.#self.shape.ttlMs });
    return { key, expect: current?.revision ?? null, put: new TextEncoder().encode(JSON.stringify({ term: String(term) })) };
  }

  async #fenced(leadership: Leadership<Value>): Promise<void> {
    const seen = await this.#self.sendFenced(leadership.term);
    if (seen > leadership.term) this.#reportTerm(leadership, seen);
  }

  #reportTerm(leadership: Leadership<Value>, term: bigint): void {
    this.#self.report({ type: 'termSeen', election: this.#election.name, term });
    leadership.reportTerm(term);
  }

  /** Ends the leadership in one of the possible ways. Resolves with true if it has ended. */
  async #leave(leadership: Leadership<Value>): Promise<boolean> {
    switch (this.#below(6)) {
      case 0:
        return true;
      case 1:
        throw new CampaignAborted();
      case 2:
        this.#stoppedItself = leadership;
        await leadership.resign();
        return true;
      case 3:
        await this.#election.candidates().catch(tolerate);
        this.#reportTerm(leadership, leadership.term + BigInt(1 + this.#below(3)));
        return true;
      default:
        this.#stoppedItself = leadership;
        await leadership.handover(this.dice(2) ? await this.#somebody() : undefined).catch(tolerate);
        // The handover found no successor, so the work continues.
        if (leadership.isValid()) this.#stoppedItself = undefined;
        return !leadership.isValid();
    }
  }

  /**
   * Ends the leadership before the work has awaited anything. Work that was started by then still
   * has to stop.
   */
  #endAtOnce(leadership: Leadership<Value>): void {
    if (this.dice(2)) this.#campaign.abort(new CampaignAborted());
    else this.#reportTerm(leadership, leadership.term + 1n);
  }

  /** A candidate chosen by name, not the next in line. */
  async #somebody(): Promise<string | undefined> {
    const candidates = await this.#election.candidates().catch(() => []);
    const others = candidates.filter(({ leads }) => !leads);
    return others[this.#below(others.length)]?.memberId;
  }

  #below(count: number): number {
    return Math.floor((this.#self.random.u32() / 2 ** 32) * count);
  }

  /** Resolves after this time or when `woken` resolves. Leaves no timer behind. */
  async #nap(ms: number, woken?: Promise<unknown>): Promise<void> {
    const over = Promise.withResolvers<void>();
    const cancel = this.#self.clock.schedule(ms, over.resolve);
    void woken?.then(() => over.resolve());
    await over.promise;
    cancel();
  }
}

function tolerate(error: unknown): void {
  if (!isIncumbentError(error)) throw error;
}

/** The caller's own abort reason. */
class CampaignAborted extends Error {}
