/**
 * Checks that every leadership ends once, with a reason, and in order. The leader is notified
 * before its keys are deleted, and the keys are deleted after its work has stopped or its drain is
 * over.
 */

import type { LeadershipView, ProcessView, WorldEvent } from '../world/event.ts';
import { Findings, type Checker } from './checker.ts';

export interface LeadershipEndRules {
  /** How long the work may take to stop, in ms. */
  readonly drainMs: number;
  /**
   * For how long, in ms, a process may fail to notice that its deadline passed while it was stopped
   * or its wall clock jumped. Its drain is shorter in that case.
   */
  readonly unnoticedMs: number;
}

/**
 * The reasons of ends that leave the session intact, so that the whole drain is available, and
 * where the work itself has not reported that it has stopped.
 */
const WHOLE_DRAIN: ReadonlySet<string> = new Set([
  'deadline',
  'memberClosed',
  'replaced',
  'steppedDown',
  'recordDeleted',
  'recordReplaced',
  'entryDeleted',
  'termBehind',
]);
/** The drain is measured by the process's clock, whose rate may be wrong. */
const RATE = 0.98;
const LATE_MS = 15;

interface ObservedLeadership {
  readonly handle: LeadershipView;
  abortedAtMs: number;
  reason: string;
  aborted: boolean;
  ended: number;
  released: boolean;
  settled: boolean;
}

export class LeadershipEndChecker implements Checker {
  readonly #rules: LeadershipEndRules;
  readonly findings: Findings = new Findings();
  /** When each process was last stopped, or its wall clock last jumped. */
  readonly #disturbed = new Map<string, number>();
  readonly #leaderships = new Map<LeadershipView, ObservedLeadership>();
  readonly #died = new Set<ProcessView>();
  /** The processes that stopped in good order while faults could still prevent the release. */
  readonly #stoppedEarly = new Set<ProcessView>();
  #closing = false;
  #over = false;

  constructor(rules: LeadershipEndRules) {
    this.#rules = rules;
  }

  onEvent(event: WorldEvent, atMs: number): void {
    switch (event.type) {
      case 'phase':
        this.#closing ||= event.phase === 'closing';
        return undefined;
      case 'died':
        this.#died.add(event.process);
        return undefined;
      case 'stopped':
        if (!this.#closing) this.#stoppedEarly.add(event.process);
        return undefined;
      case 'resumed':
        this.#disturbed.set(event.process.name, atMs);
        return undefined;
      case 'faultInjected':
        if (event.kind === 'wallJump' && event.target !== undefined) this.#disturbed.set(event.target, atMs);
        return undefined;
      case 'elected':
        this.#elected(event.handle, atMs);
        return undefined;
      case 'aborted':
        return this.#step(event.handle, (leadership) => this.#aborted(leadership, atMs));
      case 'ended':
        return this.#step(event.handle, (leadership) => this.#ended(leadership, event.reason, atMs));
      case 'released':
        return this.#step(event.handle, (leadership) => this.#released(leadership, atMs));
      case 'workStopped':
        return this.#step(event.handle, (leadership) => {
          leadership.settled = true;
        });
      case 'recordGone':
      case 'entryGone':
        return this.#gone(event, atMs);
      case 'final':
        return this.#final(atMs);
      default:
        return undefined;
    }
  }

  #step(handle: LeadershipView, step: (leadership: ObservedLeadership) => void): void {
    const leadership = this.#leaderships.get(handle);
    if (leadership !== undefined) step(leadership);
  }

  #add(atMs: number, { handle }: ObservedLeadership, what: string): void {
    this.findings.add('one end, in order', atMs, `${handle.process.name} in term ${handle.term} ${what}`);
  }

  /** Work of an earlier leadership that the SDK tracks has stopped. */
  #elected(handle: LeadershipView, atMs: number): void {
    for (const leadership of this.#leaderships.values())
      if (isSameJob(leadership.handle, handle) && leadership.handle.waits && !leadership.settled)
        this.#add(atMs, leadership, `has work that runs, and leads again in term ${handle.term}`);
    this.#leaderships.set(handle, observed(handle));
  }

  #aborted(leadership: ObservedLeadership, atMs: number): void {
    if (leadership.aborted) this.#add(atMs, leadership, 'was aborted twice');
    if (leadership.handle.isValid()) this.#add(atMs, leadership, 'was aborted while it is valid');
    leadership.aborted = true;
    leadership.abortedAtMs = atMs;
  }

  #ended(leadership: ObservedLeadership, reason: string, atMs: number): void {
    leadership.ended += 1;
    leadership.reason = reason;
    if (leadership.ended > 1) this.#add(atMs, leadership, 'ended twice');
    if (!leadership.aborted) this.#add(atMs, leadership, 'ended before it was aborted');
    if (reason === '') this.#add(atMs, leadership, 'ended without a reason');
  }

  #released(leadership: ObservedLeadership, atMs: number): void {
    if (!leadership.aborted) this.#add(atMs, leadership, 'was released before it was aborted');
    leadership.released = true;
  }

  /**
   * The holder deletes its own record and entry last. If its record was deleted or replaced, only
   * its entry keeps the next candidate from leading while its work drains.
   */
  #gone({ term, election, cause }: Extract<WorldEvent, { type: 'recordGone' | 'entryGone' }>, atMs: number): void {
    if (cause.by !== 'client' && cause.by !== 'revoke') return;
    for (const leadership of this.#leaderships.values()) {
      const { handle, aborted } = leadership;
      if (cause.owner !== handle.process.name || handle.election !== election || handle.term !== term) continue;
      if (!aborted) this.#add(atMs, leadership, 'was released before it was aborted');
      else this.#drained(leadership, atMs);
    }
  }

  #drained(leadership: ObservedLeadership, atMs: number): void {
    const { handle, settled, reason, abortedAtMs } = leadership;
    if (settled || !handle.waits || !WHOLE_DRAIN.has(reason)) return;
    if (abortedAtMs - (this.#disturbed.get(handle.process.name) ?? -Infinity) < this.#rules.unnoticedMs) return;
    const drainedMs = atMs - abortedAtMs;
    // A timer notices the deadline, and the timer may be late.
    if (drainedMs < this.#rules.drainMs * RATE - (reason === 'deadline' ? LATE_MS : 0))
      this.#add(atMs, leadership, `was released ${drainedMs} ms after it was aborted, and its work runs`);
  }

  /**
   * A process that died reports nothing more. A process that stopped in good order has reported
   * every end, although its state is `dead`, too. It has also released its keys, unless its
   * `close()` gave up during faults.
   */
  #final(atMs: number): void {
    if (this.#over) return;
    this.#over = true;
    for (const leadership of this.#leaderships.values()) {
      const { process } = leadership.handle;
      if (this.#died.has(process)) continue;
      if (leadership.ended !== 1) this.#add(atMs, leadership, `ended ${leadership.ended} times`);
      if (!leadership.released && !this.#stoppedEarly.has(process)) this.#add(atMs, leadership, 'was never released');
    }
  }
}

function isSameJob(a: LeadershipView, b: LeadershipView): boolean {
  return a.process === b.process && a.election === b.election;
}

function observed(handle: LeadershipView): ObservedLeadership {
  return { handle, aborted: false, abortedAtMs: 0, reason: '', ended: 0, released: false, settled: false };
}

/**
 * Checks that telemetry reports the end of every leadership whose beginning it reported, exactly
 * once, and no other end.
 */
export class TelemetryPairChecker implements Checker {
  readonly findings: Findings = new Findings();
  /**
   * By process: the leaderships whose beginning telemetry has reported, and whose end it has not.
   */
  readonly #open = new Map<ProcessView, Set<string>>();
  readonly #dead = new WeakSet<ProcessView>();

  onEvent(event: WorldEvent, atMs: number): void {
    if (event.type === 'logged') this.#logged(event, atMs);
    else if (event.type === 'died') this.#died(event.process);
    else if (event.type === 'stopped') this.#stopped(event.process, atMs);
  }

  /**
   * The telemetry of a process is lost when the process dies. That includes what microtasks that
   * were already queued log at that moment.
   */
  #died(process: ProcessView): void {
    this.#open.delete(process);
    this.#dead.add(process);
  }

  #logged({ process, message, election, term }: Extract<WorldEvent, { type: 'logged' }>, atMs: number): void {
    if (this.#dead.has(process)) return;
    if (message !== 'elected' && message !== 'leadership ended') return;
    const open = this.#open.get(process) ?? new Set();
    this.#open.set(process, open);
    const name = `${process.name} in term ${term} of ${election}`;
    const isExpected = message === 'elected' ? !open.has(name) : open.has(name);
    if (!isExpected) this.#add(atMs, message === 'elected' ? `${name} was told as elected twice` : `${name} ended, and had not begun`);
    if (message === 'elected') open.add(name);
    else open.delete(name);
  }

  /** A process that stopped by itself has reported everything. */
  #stopped(process: ProcessView, atMs: number): void {
    for (const name of this.#open.get(process) ?? []) this.#add(atMs, `${name} was told as elected, and never as ended`);
    this.#open.delete(process);
  }

  #add(atMs: number, what: string): void {
    this.findings.add('elected and ended are told in pairs', atMs, what);
  }
}
