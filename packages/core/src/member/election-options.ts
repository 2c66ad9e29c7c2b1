/** The options of an election, and their checks. */

import { runCallback } from '../async/callback.ts';
import type { Cancel } from '../base/clock.ts';
import { IncumbentError } from '../base/errors.ts';
import type { Telemetry } from '../base/telemetry.ts';
import { checkFunction, invalidOption } from '../base/validate.ts';
import type { Leadership } from '../leadership/leadership.ts';
import type { LeadershipEnd } from '../leadership/release-machine.ts';
import type { Succession } from '../protocol/succession.ts';
import type { ValueOptions } from '../protocol/value-codec.ts';
import type { Store } from '../store/contract.ts';

/**
 * `tell` is a method, because TypeScript compares the parameters of methods in both directions.
 * With a function, an `Election<V>` would not be assignable to an `Election<unknown>`, nor its
 * options to `ElectionOptions`.
 */
interface Listener<V> {
  tell(leadership: Leadership<V>): unknown;
}

/** The options of one member's part in an election. */
export interface ElectionOptions<V = unknown> extends ValueOptions<V> {
  /** The value that this member publishes when it leads: JSON, unless there is a codec. */
  readonly value?: V | undefined;
  /** The order of the candidates, the same for all of them. Default `firstComeFirstServed()`. */
  readonly succession?: Succession | undefined;
  /**
   * The lowest term that this member claims. Use it if the election takes over from another system,
   * or if its store has lost its data. From 1n to `2n ** 61n`. Default 1n.
   */
  readonly minTerm?: bigint | undefined;
  /**
   * The `name` of a store that is not linearizable, to accept its weaker guarantees: two members
   * may lead after the store has lost a write. Has no effect on a linearizable store, so a program
   * whose store is configured can always pass it. Default: such a store is refused with
   * `WEAK_STORE`.
   */
  readonly acceptWeakStore?: string | undefined;
  /**
   * Called when this member is elected, before `campaign` resolves and the work of `lead` begins.
   * May be async; it is not awaited. An error goes to the event `subscriberFailed`.
   */
  readonly onElected?: Listener<V>['tell'] | undefined;
  /** Called when a leadership of this member has ended, in the same way. */
  readonly onEnded?: ((end: LeadershipEnd) => unknown) | undefined;
}

/** The names of the options. */
export const electionOptions = ['value', 'succession', 'minTerm', 'acceptWeakStore', 'onElected', 'onEnded', 'parse', 'codec'] as const;

/** The callbacks of the options, and the listeners that are added later. */
export class ElectionListeners<V> {
  readonly #onEnded: ElectionOptions<V>['onEnded'];
  readonly #election: string;
  readonly #telemetry: Telemetry;
  /** Created with the first listener. */
  #listeners: Set<Listener<V>> | undefined;

  /** Throws `INVALID_OPTION` for a callback that is no function. */
  constructor(election: string, { onElected, onEnded }: ElectionOptions<V>, telemetry: Telemetry) {
    this.#election = election;
    this.#telemetry = telemetry;
    for (const [name, callback] of Object.entries({ onElected, onEnded })) if (callback !== undefined) checkFunction(name, callback);
    if (onElected !== undefined) this.add(onElected);
    this.#onEnded = onEnded;
  }

  /** Returns how to remove the listener. One function may be added several times. */
  add(listener: (leadership: Leadership<V>) => unknown): Cancel {
    checkFunction('listener', listener);
    const [added, listeners] = [{ tell: listener }, (this.#listeners ??= new Set())];
    listeners.add(added);
    return () => void listeners.delete(added);
  }

  /** Tells all of a leadership that begins, and `onEnded` of its end when it ends. */
  tell(leadership: Leadership<V>): void {
    const [onEnded, listeners] = [this.#onEnded, this.#listeners ?? new Set<Listener<V>>()];
    // A listener may remove another one, or add one, which is called from the next election on.
    for (const listener of [...listeners]) if (listeners.has(listener)) this.#notify(() => listener.tell(leadership));
    if (onEnded !== undefined) void leadership.ended.then((end) => this.#notify(() => onEnded(end)));
  }

  #notify(callback: () => unknown): void {
    runCallback(callback, (error) => this.#telemetry.emit('subscriberFailed', { election: this.#election, error }));
  }
}

/** Refuses a store that is not linearizable unless the caller accepts it by name. */
export function checkStrength(store: Store, name: string, accepted: string | undefined): void {
  if (accepted !== undefined && typeof accepted !== 'string')
    throw invalidOption('acceptWeakStore', accepted, "the name of a store, such as 'redis'");
  const { linearizable, weakness = 'it may lose a write that it has acknowledged' } = store.capabilities;
  if (linearizable || accepted === store.name) return;
  throw new IncumbentError(
    'WEAK_STORE',
    `the store "${store.name}" is not linearizable: ${weakness}. Two members may then lead "${name}", or a term be issued twice. ` +
      `If you accept that, pass acceptWeakStore: '${store.name}' in the options of this call, or of the host that makes it`,
    { details: { store: store.name, election: name } },
  );
}
