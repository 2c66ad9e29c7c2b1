/**
 * Connections of an open membership. A member dials any member to which it wants to send. If two
 * members dial each other, both keep the connection that the one with the lower id has dialled.
 */

import { invalidText, orAborted, sleep } from '@incumbent/core/adapter';
import { type Endpoint, endpointName } from '@incumbent/network';
import type { Contact } from '../algorithm.ts';
import type { Found, LinkOptions } from '../transport.ts';
import { keepConnected } from './dialer.ts';
import type { Handshake } from './handshake.ts';
import { Neighbour } from './neighbour.ts';
import { type GroupOptions, endpointOf } from './options.ts';
import { Refused } from './refusal.ts';
import type { Directory, DirectoryContext } from './directory.ts';
import type { Wire } from './wire.ts';

/** Four times the longest list of members, in case one transport serves several clusters. */
const MOST_NEIGHBOURS = 1_000;
/** A member that has exchanged no message for this long is not dialled any more. */
const IDLE_MS = 60_000;
const DISCOVER_EVERY_MS = 5_000;
/** A `seeds` function that takes longer has failed, and is called again. */
const SEEDS_WITHIN_MS = 10_000;

interface KnownMember {
  readonly neighbour: Neighbour;
  endpoint: Endpoint | undefined;
  usedAtMs: number;
  /** Set while the directory keeps the member connected. */
  dialling: { readonly stop: AbortController; readonly over: Promise<void> } | undefined;
}

export class OpenDirectory implements Directory {
  readonly #context: DirectoryContext;
  readonly #group: Extract<GroupOptions, { kind: 'open' }>;
  readonly #known = new Map<string, KnownMember>();
  readonly #founds = new Set<Found>();
  #seeds: readonly Contact[] | undefined;
  #isOpen = false;
  #discovering: Promise<void> = Promise.resolve();
  /** Set while the directory waits for the seeds. */
  #asking: Promise<void> | undefined;
  /** How many times the seeds function was called, and the latest of these calls that resolved. */
  #calls = 0;
  #answered = 0;

  constructor(group: Extract<GroupOptions, { kind: 'open' }>, context: DirectoryContext) {
    this.#group = group;
    this.#context = context;
  }

  get neighbours(): Iterable<Neighbour> {
    return [...this.#known.values()].map(({ neighbour }) => neighbour);
  }

  admit({ members }: LinkOptions): void {
    if (members !== 'open')
      throw invalidText('members', members.join(', '), "open, as this transport's are; for those that are listed it takes members");
  }

  begin(): void {
    this.#isOpen = true;
    this.#discovering = this.#discover();
  }

  enter(options: LinkOptions): () => void {
    if (options.members !== 'open') return () => {};
    const { found } = options;
    this.#founds.add(found);
    this.#reportSeeds(found);
    return () => {
      this.#founds.delete(found);
    };
  }

  claimed(from: string): Refused | undefined {
    return from === this.#context.memberId ? new Refused('duplicateMember') : undefined;
  }

  proved(from: string, incarnation: string): Refused | undefined {
    const known = this.#known.get(from);
    if (known === undefined && this.#known.size >= MOST_NEIGHBOURS) return new Refused('tooManyConnections');
    return known?.neighbour.isTakenBy(incarnation) === true ? new Refused('duplicateMember') : undefined;
  }

  welcome(wire: Wire, handshake: Handshake): void {
    const { memberId } = handshake;
    this.#meet(memberId).neighbour.connect(wire, handshake, memberId < this.#context.memberId);
  }

  reach(to: string, at: string | undefined): Neighbour | undefined {
    const endpoint = at === undefined ? undefined : endpointOf(at);
    if (!this.#known.has(to) && (endpoint === undefined || this.#known.size >= MOST_NEIGHBOURS)) return undefined;
    const known = this.#meet(to);
    known.endpoint = endpoint ?? known.endpoint;
    if (known.endpoint !== undefined && this.#isOpen) known.dialling ??= this.#dial(known);
    return known.neighbour;
  }

  async close(why: unknown): Promise<void> {
    const all = [...this.#known.values()];
    for (const known of all) this.#drop(known, why);
    await Promise.all([this.#discovering, this.#asking, ...all.map(({ dialling }) => dialling?.over)]);
  }

  #meet(memberId: string): KnownMember {
    const known = this.#known.get(memberId) ?? this.#introduce(memberId);
    known.usedAtMs = this.#context.dialer.clock.monotonic();
    return known;
  }

  #introduce(memberId: string): KnownMember {
    const { clock, receive } = this.#context.neighbour;
    const context = {
      ...this.#context.neighbour,
      receive: (from: string, bytes: Buffer): void => {
        known.usedAtMs = clock.monotonic();
        receive(from, bytes);
      },
    };
    const known: KnownMember = { neighbour: new Neighbour(memberId, context), endpoint: undefined, usedAtMs: 0, dialling: undefined };
    this.#known.set(memberId, known);
    return known;
  }

  #dial(known: KnownMember): NonNullable<KnownMember['dialling']> {
    const { memberId, dialer, connect } = this.#context;
    const stop = new AbortController();
    const over = keepConnected(known.neighbour, {
      ...dialer,
      closing: stop.signal,
      connect: async (id, signal) => {
        if (known.endpoint === undefined) throw new Error('nobody knows where it is');
        return connect(id, known.endpoint, signal);
      },
      isPreferred: (id) => memberId < id,
    });
    return { stop, over };
  }

  #drop({ neighbour, dialling }: KnownMember, why: unknown): void {
    dialling?.stop.abort(why);
    neighbour.close(why);
  }

  /**
   * Asks for the seeds: once if they are fixed, otherwise every few seconds, and waits for one call
   * at a time. Forgets members that have been idle for long, also while it waits for the seeds.
   * Never rejects.
   */
  async #discover(): Promise<void> {
    const { clock, closing } = this.#context.dialer;
    while (!closing.aborted) {
      if (this.#seeds === undefined || !this.#group.isFixed)
        this.#asking ??= this.#ask().finally(() => {
          this.#asking = undefined;
        });
      const idle = [...this.#known].filter(([, { usedAtMs }]) => clock.monotonic() - usedAtMs > IDLE_MS);
      for (const [memberId, known] of idle) {
        this.#known.delete(memberId);
        this.#drop(known, new Error('not spoken with any more'));
      }
      await sleep(clock, DISCOVER_EVERY_MS, closing);
    }
  }

  /** Waits for 10 s at most: the application's function may never resolve. Never rejects. */
  async #ask(): Promise<void> {
    const { clock, closing } = this.#context.dialer;
    const late = new AbortController();
    const why = new Error(`the seeds function has not answered within ${SEEDS_WITHIN_MS / 1_000} s`);
    const cancel = clock.schedule(SEEDS_WITHIN_MS, () => late.abort(why));
    try {
      await orAborted(orAborted(this.#callSeeds(), late.signal), closing);
    } catch (error) {
      if (!closing.aborted) this.#context.neighbour.telemetry.emit('seedsFailed', { error });
    } finally {
      cancel();
    }
  }

  /** A late answer counts, too, unless a later call has been answered before. */
  async #callSeeds(): Promise<void> {
    this.#calls += 1;
    const call = this.#calls;
    const found = await this.#group.seeds();
    const seeds = [...found].map(([memberId, endpoint]) => ({ memberId, address: endpointName(endpoint) }));
    if (call < this.#answered) return;
    this.#answered = call;
    if (JSON.stringify(seeds) === JSON.stringify(this.#seeds)) return;
    this.#seeds = seeds;
    for (const each of this.#founds) this.#reportSeeds(each);
  }

  /**
   * Informs an election of the seeds. Call this only after `open` has resolved: before that, the
   * election cannot send.
   */
  #reportSeeds(found: Found): void {
    const seeds = this.#seeds;
    if (seeds === undefined) return;
    this.#context.dialer.clock.schedule(0, () => {
      if (this.#founds.has(found)) found(this.#group.address, seeds);
    });
  }
}
