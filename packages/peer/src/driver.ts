/**
 * Runs an algorithm, one step at a time: it persists first, and then sends. Inputs wait while a
 * write is under way. If a write fails, the member ends at once, because its next message could
 * contradict its last one. (Fail-stop processors: Schlichting and Schneider, 1983.)
 *
 * The driver uses callbacks instead of promises, so that a simulation runs it within one turn of
 * the event loop.
 */

import type { Cancel, Clock } from '@incumbent/core';
import { Deadline, invalidOption, MAX_TERM, momentOf } from '@incumbent/core/adapter';
import type {
  Algorithm,
  AlgorithmState,
  Validity,
  Command,
  Input,
  Output,
  PeerConflict,
  PeerEndReason,
  PeerEvent,
  PeerMembership,
  PeerView,
  Position,
  Safety,
  Step,
  TermOf,
} from './algorithm.ts';

/** Why a driver has stopped by itself. */
export type FailureReason = 'notWritten' | 'positionUnknown' | 'joinFailed';

/** How a write ended. */
export type Written = { readonly ok: true } | { readonly ok: false; readonly error: unknown };

/**
 * What the driver depends on. Every port but `send` may call the driver back before it returns: for
 * example, a subscriber that sees a view may resign.
 */
export interface Ports<S extends Safety> {
  readonly clock: Clock;
  position(): Position;
  send(to: string, message: unknown, at?: string): void;
  /** Calls `done` once: when the data are durable, or when that is uncertain. */
  persist(durable: unknown, done: (written: Written) => void): void;
  elected(validity: Validity<S>): void;
  /** `validity`: that of the leadership that has ended. */
  ended(reason: PeerEndReason, validity: Validity<S>): void;
  viewed(view: PeerView<S>): void;
  membership(membership: PeerMembership | undefined): void;
  conflict(conflict: PeerConflict): void;
  /**
   * The driver has stopped: a write or `position` failed with `error`, or there are no members to
   * join.
   */
  failed(why: FailureReason, error?: unknown): void;
}

/** An input for which the driver has not read the clocks yet. */
type Work =
  | { readonly type: 'tick' }
  | { readonly type: 'message'; readonly from: string; readonly message: unknown }
  | { readonly type: 'command'; readonly command: Command };

/** Further messages are dropped, as a network may drop them too. */
const MAX_WAITING = 1_000;

export class Driver<S extends Safety> {
  readonly #algorithm: Algorithm<S>;
  readonly #ports: Ports<S>;
  readonly #clock: Clock;
  readonly #waiting: Work[] = [];
  #state: AlgorithmState;
  /** The leadership that this member holds: durable, and not yet over. */
  #validity: Validity<S> | undefined;
  /**
   * The deadline of the latest leadership. The driver compares it with the clocks at every step, so
   * that a wall clock that is set back prolongs nothing.
   */
  #deadline: Deadline | undefined;
  #busy = false;
  #stopped = false;
  #timer: Cancel = () => {};
  #armedAtMs: number | undefined;
  /** How late a timer was at most since the other members last vouched for the leadership. */
  #lateMs = 0;
  #dropped = 0;

  constructor(algorithm: Algorithm<S>, state: AlgorithmState, ports: Ports<S>) {
    this.#algorithm = algorithm;
    this.#ports = ports;
    this.#clock = ports.clock;
    this.#state = state;
    this.#arm();
  }

  /** For tests and the checkers of a simulation. */
  get state(): AlgorithmState {
    return this.#state;
  }

  get highestTerm(): TermOf<S> {
    return this.#algorithm.highestTerm(this.#state);
  }

  /** How many messages were dropped because too many waited. */
  get dropped(): number {
    return this.#dropped;
  }

  /**
   * True while this member certainly leads. Reads both clocks. Once false for a leadership, it
   * stays false.
   */
  isValid(): boolean {
    return this.remainingMs() > 0;
  }

  /**
   * How long the leadership stays valid if no member answers any more, in ms. 0 without a
   * leadership.
   */
  remainingMs(): number {
    const validity = this.#validity;
    if (validity === undefined) return 0;
    const leftMs = this.#deadline?.remainingMs() ?? 0;
    if (leftMs > 0) return leftMs;
    this.#end((this.#deadline?.remainingMonotonicMs() ?? 0) > 0 ? 'clockJump' : 'deadline', validity);
    return 0;
  }

  /**
   * The longest time for which this process ran no timers since the other members last vouched for
   * the leadership, in ms. A blocked event loop is the most common cause of a loss.
   */
  get loopBlockedMs(): number {
    const overdueMs = this.#armedAtMs === undefined ? 0 : this.#clock.monotonic() - this.#armedAtMs;
    return Math.max(this.#lateMs, overdueMs);
  }

  successor(to: string | undefined): string | undefined {
    return this.#algorithm.successor(this.#state, to);
  }

  /** Why `successor` has returned undefined. */
  whyNoSuccessor(to: string | undefined): string {
    return this.#algorithm.whyNoSuccessor(this.#state, to);
  }

  command(command: Command): void {
    this.#put({ type: 'command', command });
  }

  /** Takes a message from another member. */
  receive(from: string, message: unknown): void {
    if (this.#waiting.length < MAX_WAITING) this.#put({ type: 'message', from, message });
    else this.#dropped += 1;
  }

  /** Ends the leadership at once, and informs the algorithm. Does nothing without a leadership. */
  end(reason: PeerEndReason): void {
    const validity = this.#validity;
    if (validity !== undefined && this.isValid()) this.#end(reason, validity);
  }

  /** After this call, the driver sends nothing and calls no port. */
  stop(): void {
    this.#stopped = true;
    this.#validity = undefined;
    this.#waiting.length = 0;
    this.#timer();
  }

  /**
   * Informs the algorithm before it takes any other input, even one that came earlier. After a
   * sleep, a tick usually waits: by that tick, an algorithm that still believes in its leadership
   * sends a heartbeat, and by best effort this heartbeat deposes the leader that the other members
   * have elected meanwhile.
   */
  #end(reason: PeerEndReason, validity: Validity<S>): void {
    this.#validity = undefined;
    // First, because `ended` may call the driver back, which then takes the inputs that wait.
    this.#waiting.unshift({ type: 'command', command: { type: 'end', reason } });
    this.#ports.ended(reason, validity);
    this.#pump();
  }

  #put(work: Work): void {
    if (this.#stopped) return;
    this.#waiting.push(work);
    this.#pump();
  }

  #pump(): void {
    while (!this.#busy) {
      // A machine that slept may have passed only the wall deadline, which no timer waits for. If
      // the leadership is over, `isValid` has pumped too, so a write may be under way now.
      if (this.#validity !== undefined && !this.isValid()) continue;
      const work = this.#waiting.shift();
      if (work === undefined) return;
      // Set before `position`, which may call the driver back: no other step may run meanwhile.
      this.#busy = true;
      const position = this.#position();
      if (position === undefined) return;
      const now = this.#deadline?.readClocks() ?? momentOf(this.#clock);
      this.#step({ ...work, now, position });
    }
  }

  /**
   * Undefined if the application does not return its position. The member can then neither lead nor
   * vote, and ends.
   */
  #position(): Position | undefined {
    try {
      return checkPosition(this.#ports.position());
    } catch (error) {
      this.#fail('positionUnknown', error);
      return undefined;
    }
  }

  #step(input: Input<unknown>): void {
    const { state, outputs } = this.#nextState(input);
    this.#state = state;
    this.#retract(outputs);
    const persist = outputs.find((output) => output.type === 'persist');
    if (persist === undefined) return this.#finish(outputs);
    this.#ports.persist(persist.durable, (written) => {
      if (this.#stopped) return;
      if (!written.ok) return this.#fail('notWritten', written.error);
      this.#finish(outputs);
      this.#pump();
    });
  }

  /** An input for which the algorithm throws has no effect. Its sender gets the error. */
  #nextState(input: Input<unknown>): Step<AlgorithmState, unknown, unknown> {
    try {
      return this.#algorithm.step(this.#state, input);
    } catch (error) {
      this.#busy = false;
      throw error;
    }
  }

  /**
   * Ends a leadership that the step has ended, before anything else happens and before the write.
   * A leadership that the step has taken away without a reason ends too: otherwise its application
   * would wait for its end for ever.
   */
  #retract(outputs: readonly Output<unknown, unknown>[]): void {
    const validity = this.#validity;
    if (validity === undefined || this.#algorithm.validity(this.#state) !== undefined) return;
    this.#validity = undefined;
    for (const output of outputs)
      if (output.type === 'event' && output.event.type === 'ended') this.#ports.ended(output.event.reason, validity);
    if (!outputs.some((output) => output.type === 'event' && output.event.type === 'ended')) this.#ports.ended('superseded', validity);
  }

  /** Performs the outputs of a step after its write. */
  #finish(outputs: readonly Output<unknown, unknown>[]): void {
    this.#busy = false;
    const validity = this.#algorithm.validity(this.#state);
    const isNew = outputs.some((output) => output.type === 'event' && output.event.type === 'elected');
    if (isNew || validity?.from !== this.#validity?.from) this.#lateMs = 0;
    if (isNew || this.#validity !== undefined) this.#setValidity(validity, isNew);
    for (const output of outputs) {
      if (output.type === 'send') this.#ports.send(output.to, output.message, output.at);
      if (output.type === 'event') this.#report(output.event);
      if (this.#stopped) return;
    }
    if (isNew && validity !== undefined) this.#ports.elected(validity);
    this.#ports.viewed(this.#algorithm.view(this.#state));
    this.#arm();
  }

  #setValidity(validity: Validity<S> | undefined, isNew: boolean): void {
    this.#validity = validity;
    if (validity === undefined) this.#deadline = undefined;
    else if (isNew || this.#deadline === undefined) this.#deadline = new Deadline(this.#clock, validity.from, validity.forMs);
    else this.#deadline.moveTo(validity.from, validity.forMs);
  }

  #report(event: PeerEvent): void {
    if (event.type === 'membership') this.#ports.membership(event.membership);
    if (event.type === 'conflict') this.#ports.conflict(event.conflict);
    if (event.type !== 'joinFailed') return;
    this.stop();
    this.#ports.failed('joinFailed');
  }

  #fail(why: 'notWritten' | 'positionUnknown', error: unknown): void {
    const validity = this.#validity;
    this.stop();
    if (validity !== undefined) this.#ports.ended(why, validity);
    this.#ports.failed(why, error);
  }

  #arm(): void {
    const { wakeAtMs } = this.#state;
    if (wakeAtMs === this.#armedAtMs || this.#stopped) return;
    this.#timer();
    this.#armedAtMs = wakeAtMs;
    if (wakeAtMs === undefined) return;
    this.#timer = this.#clock.schedule(Math.max(wakeAtMs - this.#clock.monotonic(), 1), () => {
      this.#lateMs = this.loopBlockedMs;
      this.#armedAtMs = undefined;
      this.#put({ type: 'tick' });
    });
  }
}

function checkPosition(position: Position): Position {
  const { lastTerm, lastIndex } = position;
  // The other members refuse messages with anything else.
  if (isPart(lastTerm) && isPart(lastIndex)) return position;
  throw invalidOption(
    'position',
    position,
    'a function that answers at once with { lastTerm, lastIndex }, both bigints from 0n to 2n ** 63n - 1n',
  );
}

function isPart(value: unknown): boolean {
  return typeof value === 'bigint' && value >= 0n && value <= MAX_TERM;
}
