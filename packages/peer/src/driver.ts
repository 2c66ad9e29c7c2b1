/**
 * Runs an algorithm: one step at a time, what is to persist first, what is to be sent then. While something is being persisted, inputs wait. If it
 * cannot be persisted, the member ends there and then, as its next word might contradict its last one. (Fail-stop: Schlichting and Schneider, 1983.)
 *
 * It is callbacks all through, so that a simulation runs it within one turn of the event loop.
 */

import type { Cancel, Clock } from '@incumbent/core';
import { Deadline, invalidOption, momentOf } from '@incumbent/core/adapter';
import type {
  Algorithm,
  AlgorithmState,
  Belief,
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
  TermOf,
} from './algorithm.ts';

/** Why a driver does nothing any more. */
export type FailureReason = 'notWritten' | 'positionUnknown' | 'joinFailed';

/** How a write ended. */
export type Written = { readonly ok: true } | { readonly ok: false; readonly error: unknown };

/** What a driver is given. None of it may call back at once but `persist`. */
export interface Ports<S extends Safety> {
  readonly clock: Clock;
  position(): Position;
  send(to: string, message: unknown, at?: string): void;
  /** Calls `done` once, when it is durable, or when nobody knows whether it is. */
  persist(durable: unknown, done: (written: Written) => void): void;
  elected(belief: Belief<S>): void;
  /** With what was believed until now. */
  ended(reason: PeerEndReason, belief: Belief<S>): void;
  viewed(view: PeerView<S>): void;
  membership(membership: PeerMembership | undefined): void;
  conflict(conflict: PeerConflict): void;
  /** It does nothing any more: it could not persist, or was told no position, for that error; or it found no members to join. */
  failed(why: FailureReason, error?: unknown): void;
}

/** What an input is before the clocks are read for it. */
type Work =
  | { readonly type: 'tick' }
  | { readonly type: 'message'; readonly from: string; readonly message: unknown }
  | { readonly type: 'command'; readonly command: Command };

/** More messages than this do not wait: a network may lose them as well. */
const MAX_WAITING = 1_000;

export class Driver<S extends Safety> {
  readonly #algorithm: Algorithm<S>;
  readonly #ports: Ports<S>;
  readonly #clock: Clock;
  readonly #waiting: Work[] = [];
  #state: AlgorithmState;
  /** What this member may believe: durable, and not yet over. */
  #belief: Belief<S> | undefined;
  /** Of the latest belief: it is looked at with every step, so that a wall clock that is set back gives nothing again. */
  #deadline: Deadline | undefined;
  #busy = false;
  #stopped = false;
  #timer: Cancel = () => {};
  #armedAtMs: number | undefined;
  /** How late a timer was, at most, since the belief was vouched for last. */
  #lateMs = 0;
  #dropped = 0;

  constructor(algorithm: Algorithm<S>, state: AlgorithmState, ports: Ports<S>) {
    this.#algorithm = algorithm;
    this.#ports = ports;
    this.#clock = ports.clock;
    this.#state = state;
    this.#arm();
  }

  /** For those who look on: tests, and checkers of a simulation. */
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

  /** Whether it leads, certainly: reads both clocks. Once it is false for a leadership, it stays so. */
  isValid(): boolean {
    return this.remainingMs() > 0;
  }

  /** How long it leads if nobody answers any more, in ms; 0 when it does not. */
  remainingMs(): number {
    const belief = this.#belief;
    if (belief === undefined) return 0;
    const leftMs = this.#deadline?.remainingMs() ?? 0;
    if (leftMs > 0) return leftMs;
    this.#end((this.#deadline?.monotonicallyMs() ?? 0) > 0 ? 'clockJump' : 'deadline', belief);
    return 0;
  }

  /**
   * How long this process ran no timers, at most, since the belief was vouched for last, in ms: an event loop that is blocked is the commonest cause of
   * a loss.
   */
  get loopBlockedMs(): number {
    const overdueMs = this.#armedAtMs === undefined ? 0 : this.#clock.monotonic() - this.#armedAtMs;
    return Math.max(this.#lateMs, overdueMs);
  }

  heir(to: string | undefined): string | undefined {
    return this.#algorithm.heir(this.#state, to);
  }

  command(command: Command): void {
    this.#put({ type: 'command', command });
  }

  /** A message as it came from another member. */
  receive(from: string, message: unknown): void {
    if (this.#waiting.length < MAX_WAITING) this.#put({ type: 'message', from, message });
    else this.#dropped += 1;
  }

  /** Belief ends here and now, and the algorithm is told. Does nothing where there is none. */
  end(reason: PeerEndReason): void {
    const belief = this.#belief;
    if (belief !== undefined && this.isValid()) this.#end(reason, belief);
  }

  /** Ends it: nothing is sent or called any more. */
  stop(): void {
    this.#stopped = true;
    this.#belief = undefined;
    this.#waiting.length = 0;
    this.#timer();
  }

  #end(reason: PeerEndReason, belief: Belief<S>): void {
    this.#belief = undefined;
    this.#ports.ended(reason, belief);
    this.command({ type: 'end', reason });
  }

  #put(work: Work): void {
    if (this.#stopped) return;
    this.#waiting.push(work);
    this.#pump();
  }

  #pump(): void {
    while (!this.#busy) {
      const work = this.#waiting.shift();
      if (work === undefined) return;
      const position = this.#position();
      if (position === undefined) return;
      this.#busy = true;
      const now = this.#deadline?.look() ?? momentOf(this.#clock);
      this.#step({ ...work, now, position });
    }
  }

  /** Undefined where the application does not say: then this member is fit neither to lead nor to judge who is, and ends. */
  #position(): Position | undefined {
    try {
      return checkPosition(this.#ports.position());
    } catch (error) {
      this.#fail('positionUnknown', error);
      return undefined;
    }
  }

  #step(input: Input<unknown>): void {
    const { state, outputs } = this.#algorithm.step(this.#state, input);
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

  /** What is no longer believed ends before anything else happens, the write included. */
  #retract(outputs: readonly Output<unknown, unknown>[]): void {
    const belief = this.#belief;
    if (belief === undefined || this.#algorithm.belief(this.#state) !== undefined) return;
    this.#belief = undefined;
    for (const output of outputs)
      if (output.type === 'event' && output.event.type === 'ended') this.#ports.ended(output.event.reason, belief);
  }

  /** What the step wanted done, now that it may be; then the next one. */
  #finish(outputs: readonly Output<unknown, unknown>[]): void {
    this.#busy = false;
    const belief = this.#algorithm.belief(this.#state);
    const isNew = outputs.some((output) => output.type === 'event' && output.event.type === 'elected');
    if (isNew || belief?.from !== this.#belief?.from) this.#lateMs = 0;
    if (isNew || this.#belief !== undefined) this.#believe(belief, isNew);
    for (const output of outputs) {
      if (output.type === 'send') this.#ports.send(output.to, output.message, output.at);
      if (output.type === 'event') this.#tell(output.event);
    }
    if (isNew && belief !== undefined) this.#ports.elected(belief);
    this.#ports.viewed(this.#algorithm.view(this.#state));
    this.#arm();
  }

  #believe(belief: Belief<S> | undefined, isNew: boolean): void {
    this.#belief = belief;
    if (belief === undefined) this.#deadline = undefined;
    else if (isNew || this.#deadline === undefined) this.#deadline = new Deadline(this.#clock, belief.from, belief.forMs);
    else this.#deadline.reach(belief.from, belief.forMs);
  }

  #tell(event: PeerEvent): void {
    if (event.type === 'membership') this.#ports.membership(event.membership);
    if (event.type === 'conflict') this.#ports.conflict(event.conflict);
    if (event.type !== 'joinFailed') return;
    this.stop();
    this.#ports.failed('joinFailed');
  }

  #fail(why: 'notWritten' | 'positionUnknown', error: unknown): void {
    const belief = this.#belief;
    this.stop();
    if (belief !== undefined) this.#ports.ended(why, belief);
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
  if (typeof lastTerm === 'bigint' && typeof lastIndex === 'bigint') return position;
  throw invalidOption('position', position, 'a function that answers at once with { lastTerm, lastIndex }, both bigints');
}
