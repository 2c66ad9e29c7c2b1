/** The world: its time, its store, its processes and its faults. */

import { Fence, isIncumbentError } from '@incumbent/core';
import { Actor, type ActorContext } from './actor.ts';
import type { ProcessView, Listener, WorldEvent } from './event.ts';
import { describe, type Fault, type Target, type Trigger } from '../plan/fault.ts';
import type { Plan, Shape } from '../plan/plan.ts';
import type { SimProcess } from '../time/process.ts';
import type { Program } from '../programs/program.ts';
import type { HangMode } from '../store/disks.ts';
import { SimServer } from '../store/server.ts';
import { ElectionTracker, termOf } from './election-tracker.ts';
import { injectFault, takesEffect } from './inject-fault.ts';
import { streamOf, type Stream } from '../time/random.ts';
import { Scheduler } from '../time/scheduler.ts';
import { Trace } from '../time/trace.ts';
import { traceEvent } from './trace-event.ts';

/** The programs that the processes of a world run. */
export interface Programs {
  readonly member: Program;
  readonly observer: Program;
}

/**
 * The latency of messages to what processes share besides the store, in ms. One message in eight is
 * slow.
 */
const CALL_MS = { usual: 20, slowOneIn: 8 } as const;

/** Prefixes of the SDK's keys. All other keys belong to a program. */
const OURS = /^(elections|members|groups)\//;

/**
 * After this time, in ttls, a process that was replaced has learned of that, if the store serves
 * requests, and has stopped.
 */
const REPLACED_KNOWS_TTLS = 2;
/** After this time, in ms, a process that receives nothing has noticed that. */
const NOTICED_AFTER_MS = 1_500;

export class World implements ActorContext {
  readonly plan: Plan;
  readonly scheduler: Scheduler;
  readonly server: SimServer;
  readonly trace: Trace = new Trace();
  readonly tracker: ElectionTracker;
  readonly random: Stream;
  readonly #programs: Programs;
  readonly #listeners: readonly Listener[];
  /** The latest start of each process id. */
  readonly #latest = new Map<string, Actor>();
  readonly #starts = new Map<string, number>();
  readonly #all: Actor[] = [];
  readonly #repairs = new Set<() => void>();
  readonly #silences: (() => void)[] = [];
  readonly #counts = new Map<Trigger, number>();
  readonly #waiting: Map<string, readonly Fault[]>;
  readonly #fence = new Fence();
  #stormy = true;
  #closing = false;
  #changedAtMs = 0;

  constructor(plan: Plan, programs: Programs, listeners: readonly Listener[]) {
    const { seed, shape } = plan;
    this.plan = plan;
    this.#programs = programs;
    this.#listeners = listeners;
    this.random = streamOf(seed, 'world');
    this.scheduler = new Scheduler(streamOf(seed, 'order'));
    this.server = new SimServer(this.scheduler, { shape: shape.store, random: streamOf(seed, 'store') });
    this.tracker = new ElectionTracker({
      emit: (event) => this.emit(event),
      trigger: (trigger, subject) => this.#triggered(trigger, subject),
      ownerOf: (lease) => this.server.leases.ownerOf(lease),
    });
    this.server.listen(this.tracker);
    this.#waiting = Map.groupBy(plan.faults, ({ when }) => ('on' in when ? `${when.on}/${when.nth}` : ''));
  }

  get seed(): number {
    return this.plan.seed;
  }

  get shape(): Shape {
    return this.plan.shape;
  }

  get calm(): boolean {
    return !this.#stormy;
  }

  /** How long ago a leadership began or ended in the store, in ms. */
  get quietMs(): number {
    return this.scheduler.nowMs - this.#changedAtMs;
  }

  /** Every start of every process. */
  get actors(): readonly Actor[] {
    return this.#all;
  }

  /** The processes that run now: the latest start of each id. */
  get running(): readonly Actor[] {
    return [...this.#latest.values()].filter((actor) => !actor.over);
  }

  emit(event: WorldEvent): void {
    const { nowMs } = this.scheduler;
    traceEvent(this.trace, event, nowMs);
    if (event.type === 'issued' || event.type === 'recordGone') this.#changedAtMs = nowMs;
    for (const listener of this.#listeners) listener.onEvent(event, nowMs);
    if (event.type === 'elected' || event.type === 'aborted') this.#triggered(event.type, event.handle.process.name);
  }

  /** Starts every process, and schedules the faults that the plan has at fixed times. */
  begin(): void {
    this.emit({ type: 'phase', phase: 'storm' });
    const { members, observers } = this.shape;
    for (let i = 1; i <= members; i += 1) this.scheduler.after(this.random.below(50), () => this.start(`m${i}`));
    for (let i = 1; i <= observers; i += 1) this.scheduler.after(this.random.below(50), () => this.start(`o${i}`));
    for (const fault of this.plan.faults)
      if ('atMs' in fault.when) this.scheduler.at(fault.when.atMs, () => this.#inject(fault, undefined));
  }

  /** Ends the storm: repairs all faults. No further fault follows. */
  calmDown(): void {
    this.#stormy = false;
    for (const repair of [...this.#repairs]) repair();
    for (const [id, actor] of this.#latest) if (actor.over) this.start(id);
    // A process whose id was taken stops by itself. Any other process that is not the latest of its
    // id would wait for ever.
    const elders = this.#all.filter((actor) => !actor.over && this.#latest.get(actor.memberId) !== actor);
    const replaced = new Set(elders.filter(({ process }) => this.tracker.keepsReplacedSession(process.name)));
    for (const elder of elders) if (!replaced.has(elder)) elder.stop();
    const knownMs = this.server.downForMs + REPLACED_KNOWS_TTLS * this.shape.ttlMs;
    if (replaced.size > 0) this.scheduler.after(knownMs, () => this.#checkReplaced(replaced));
    for (const { client } of this.#all) client.calm();
    this.emit({ type: 'phase', phase: 'calm' });
  }

  /**
   * An operator deletes the leader's record or its entry. With `blindForMs`, neither the leader nor
   * any observer receives anything for that time.
   */
  depose(blindForMs: number | undefined): void {
    this.#emitQueue();
    this.#emitCalmState();
    this.emit({ type: 'phase', phase: 'deposed' });
    if (blindForMs !== undefined) for (const actor of this.running) if (this.#isBlinded(actor)) this.#blind(actor, blindForMs);
    // Deleting the leader's entry has the same effect: the record prevents claims for as long.
    const entry = blindForMs === undefined && this.seed % 4 === 0 ? this.tracker.holder?.entry : undefined;
    const records = this.server.state.all().flatMap(({ key }) => (key.endsWith('/leader') ? [key] : []));
    this.server.state.remove(entry === undefined ? records : [entry], { by: 'operator' });
  }

  /** In calm: the existing connections go silent permanently. */
  silenceConnections(): void {
    this.emit({ type: 'connectionsSilenced' });
    for (const { client } of this.running) client.link.silence();
  }

  /**
   * Crashes the leader for good. Depending on the shape, watches are silent, or a server hangs for
   * this many ms.
   */
  crashLeader(sickMs: number): void {
    const { silentFailover = false, sickFailover } = this.shape;
    this.#emitQueue();
    this.emit({ type: 'phase', phase: 'failover' });
    this.find('leader', undefined)?.kill();
    if (sickFailover !== undefined) this.#sicken(sickFailover, sickMs);
    if (!silentFailover) return;
    this.emit({ type: 'watchesSilenced' });
    for (const { client } of this.running) this.#silences.push(client.link.stallWatches());
  }

  #sicken(hung: HangMode, forMs: number): void {
    const server = this.random.below(this.shape.store.servers ?? 1);
    this.emit({ type: 'serverHung', server, hung });
    // Clients leave a server that serves no reads. A server that serves reads still serves its
    // watches.
    const silentPart = hung === 'reads' ? 1 : 0;
    this.scheduler.after(forMs, this.server.hangDisk({ server, hung, silentPart }));
  }

  /** Asks all programs to stop. */
  close(): void {
    this.#closing = true;
    this.emit({ type: 'phase', phase: 'closing' });
    for (const end of this.#silences.splice(0)) end();
    for (const actor of this.#all) if (!actor.over) actor.stop();
  }

  /** All programs have had time to stop. */
  finish(): void {
    this.emit({ type: 'phase', phase: 'over' });
    for (const actor of this.#all)
      if (!actor.over) this.emit({ type: 'unexpectedError', process: actor.process, error: new Error('it has not stopped') });
    const keys = this.server.state.all().flatMap(({ key }) => (OURS.test(key) && !key.endsWith('/term') ? [key] : []));
    this.emit({ type: 'final', keys, leases: this.server.leases.all().length, watches: this.server.watches });
  }

  /** Starts a process id again, or a process with a program of its own. */
  start(id: string, { program, takesOver = false }: { readonly program?: Program; readonly takesOver?: boolean } = {}): Actor {
    const starts = (this.#starts.get(id) ?? 0) + 1;
    this.#starts.set(id, starts);
    const usual = id.startsWith('o') ? this.#programs.observer : this.#programs.member;
    const actor = new Actor(this, { id, starts, rate: this.#rateOf(id), program: program ?? usual, takesOver });
    if (this.calm) actor.client.calm();
    this.#all.push(actor);
    if (program === undefined) this.#latest.set(id, actor);
    return actor;
  }

  /** Called when a start has ended. Schedules the next start of the process id. */
  over(actor: Actor): void {
    if (this.#closing || this.#latest.get(actor.memberId) !== actor) return;
    const usualMs = this.shape.ttlMs / 4;
    const afterMs = this.#stormy ? (actor.restartAfterMs ?? usualMs) : usualMs;
    this.repairAfter(afterMs, () => this.restart(actor.memberId));
  }

  /** Starts a process id again, unless it runs. */
  restart(id: string): void {
    if (!this.#closing && this.#latest.get(id)?.over !== false) this.start(id);
  }

  /** The process that a target means, if it runs. */
  find(target: Target, subject: string | undefined): Actor | undefined {
    const id =
      target === 'subject' ? subject?.slice(0, subject.indexOf('#')) : target === 'leader' ? this.tracker.holder?.memberId : target;
    const actor = id === undefined ? undefined : this.#latest.get(id);
    return actor?.over === false ? actor : undefined;
  }

  /** Runs a repair once, after this time or when the storm is over. */
  repairAfter(durationMs: number, repair: () => void): void {
    const once = (): void => {
      if (this.#repairs.delete(once)) repair();
    };
    this.#repairs.add(once);
    this.scheduler.after(durationMs, once);
  }

  async call<T>(from: SimProcess, task: () => T): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    const delayMs = (): number =>
      this.random.below(CALL_MS.slowOneIn) === 0 ? this.random.below(this.shape.ttlMs * 2) : this.random.below(CALL_MS.usual);
    const arrive = (): void => {
      // The task runs in a promise, so that the caller receives what the task throws.
      const outcome = new Promise<T>((settle) => settle(task()));
      outcome.catch(() => {});
      this.scheduler.after(delayMs(), () => from.run(() => resolve(outcome)));
    };
    from.run(() => this.scheduler.after(delayMs(), arrive));
    return promise;
  }

  resumed(process: ProcessView): void {
    this.emit({ type: 'resumed', process });
  }

  #checkReplaced(replaced: Iterable<Actor>): void {
    for (const actor of replaced) {
      if (actor.over) continue;
      if (this.tracker.keepsReplacedSession(actor.process.name)) this.emit({ type: 'replacedSessionKept', process: actor.process });
      actor.stop();
    }
  }

  #emitQueue(): void {
    const path = `elections/${this.tracker.first ?? ''}`;
    const names = this.server.state.below(`${path}/candidates`).map(({ key }) => nameIn(key));
    this.emit({ type: 'queue', names, record: termOf(this.server.state.get(`${path}/leader`)) });
  }

  #emitCalmState(): void {
    const [rows, leases] = [this.server.state.all(), this.server.leases.all()];
    const members = this.running.flatMap(({ memberId, process }) => {
      const own = new Set(leases.flatMap(({ id, owner }) => (owner === process.name ? [id] : [])));
      const keys = rows.flatMap(({ key, lease }) => (lease !== undefined && own.has(lease) ? [key] : []));
      return memberId.startsWith('o') ? [] : [{ process, keys, leases: own.size }];
    });
    this.emit({ type: 'calmState', members, group: rows.flatMap(({ key }) => (key.startsWith('groups/') ? [nameIn(key)] : [])) });
  }

  #isBlinded(actor: Actor): boolean {
    return actor === this.find('leader', undefined) || actor.memberId.startsWith('o');
  }

  #blind({ client, process }: Actor, forMs: number): void {
    this.scheduler.after(forMs, client.link.cut('both'));
    this.scheduler.after(NOTICED_AFTER_MS, () => this.emit({ type: 'isolated', process }));
  }

  admit(term: bigint): bigint {
    try {
      this.#fence.admit(term);
      this.emit({ type: 'wrote', to: 'fenced', term });
    } catch (error) {
      if (!isIncumbentError(error, 'STALE_TERM')) throw error;
      this.emit({ type: 'refused', to: 'fenced', term });
    }
    return this.#fence.highest;
  }

  /** A machine keeps its clock rate over restarts of a process. */
  #rateOf(id: string): number {
    const { driftRatio } = this.shape;
    const random = streamOf(this.seed, id, 'rate');
    return 1 + driftRatio * random.pick([-1, -1, 0, 1, 1, random.between(-100, 100) / 100]);
  }

  #triggered(trigger: Trigger, subject: string): void {
    if (!this.#stormy) return;
    const nth = (this.#counts.get(trigger) ?? 0) + 1;
    this.#counts.set(trigger, nth);
    for (const fault of this.#waiting.get(`${trigger}/${nth}`) ?? []) {
      const { when } = fault;
      if (!('on' in when)) continue;
      // A fault does not stop a process in the middle of its code. A fault at an event in the store
      // acts before the store sends its answer.
      const inside = trigger === 'elected' || trigger === 'aborted';
      if (when.afterMs === 0 && !inside) this.#inject(fault, subject);
      else this.scheduler.after(when.afterMs, () => this.#inject(fault, subject));
    }
  }

  #inject(fault: Fault, subject: string | undefined): void {
    if (!this.#stormy) return;
    const target = 'target' in fault ? this.find(fault.target, subject) : undefined;
    if ('target' in fault && target === undefined) return;
    // A fault without effect is injected all the same, so that it draws the same random numbers.
    if (takesEffect(this, fault, target))
      this.emit({ type: 'faultInjected', kind: fault.kind, target: target?.process.name, how: describe(fault) });
    injectFault(this, fault, target);
  }
}

function nameIn(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}
