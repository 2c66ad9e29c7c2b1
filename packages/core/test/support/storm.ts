/** Three members under faults that come by chance, the same ones for the same seed. */

import type { MemoryStore } from '@incumbent/memory';
import { expect } from 'vitest';
import type { Election, Leadership, Random } from '../../src/index.ts';
import { PausableClock } from '../../src/testing.ts';
import { seeded } from './random.ts';
import { track, type Tracked } from './track.ts';
import { CANDIDATES, LEADER, NAME, TERM, World, type WorldOptions } from './world.ts';

const TTL_MS = 2_000;
const STEP_MS = 20;

interface Seat {
  readonly id: string;
  readonly store: MemoryStore;
  readonly clock: PausableClock;
  readonly election: Election;
  caller: AbortController;
  campaign: Tracked<unknown>;
}

export class Storm {
  readonly world: World;
  readonly terms: bigint[] = [];
  readonly #random: Random;
  readonly #seats: Seat[] = [];
  readonly #held = new Set<Leadership>();
  readonly #log: string[] = [];

  constructor(seed: number, options: WorldOptions) {
    this.#random = seeded(seed);
    this.world = new World(options);
    for (const id of ['a', 'b', 'c']) this.#seats.push(this.#sit(id));
  }

  /** Lets so many strokes fall, and looks all the while whether two believe. */
  async rage(strokes: number): Promise<void> {
    for (let stroke = 0; stroke < strokes; stroke += 1) {
      this.#strike();
      await this.#pass(STEP_MS * (1 + (this.#random.u32() % 15)));
    }
  }

  /** Mends everything; then there is one leader within a while, and it leads on. */
  async calm(): Promise<void> {
    for (const seat of this.#seats) {
      seat.clock.resume();
      seat.store.link.heal();
      this.#begin(seat);
    }
    await this.#pass(8 * TTL_MS);
    expect(this.#believers().length, this.story('nobody leads')).toBe(1);
  }

  async close(): Promise<void> {
    await this.world.close();
    await this.world.pass(TTL_MS);
    try {
      this.world.expectNothingLeft();
    } catch (error) {
      throw new Error(this.story('something is left'), { cause: error });
    }
  }

  story(what: string): string {
    return `${what}, after:\n${this.#log.join('\n')}`;
  }

  #sit(id: string): Seat {
    const store = this.world.connect({ latencyMs: () => 1 + (this.#random.u32() % 5) });
    const clock = new PausableClock(this.world.clock);
    const member = this.world.member(id, { ttlMs: TTL_MS, clock }, store);
    const seat = { id, store, clock, election: member.election(NAME), caller: new AbortController(), campaign: track(Promise.resolve()) };
    this.#begin(seat);
    return seat;
  }

  #begin(seat: Seat): void {
    if (seat.campaign.state === 'pending' && !seat.caller.signal.aborted) return;
    seat.caller = new AbortController();
    seat.campaign = track(seat.election.lead((leadership) => this.#work(leadership), { signal: seat.caller.signal }));
  }

  async #work(leadership: Leadership): Promise<void> {
    const last = this.terms.at(-1) ?? 0n;
    expect(leadership.term > last, this.story(`term ${leadership.term} after term ${last}`)).toBe(true);
    this.terms.push(leadership.term);
    this.#held.add(leadership);
    await leadership.ended;
    this.#held.delete(leadership);
  }

  #believers(): readonly Leadership[] {
    return [...this.#held].filter((leadership) => leadership.isValid());
  }

  async #pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      await this.world.pass(STEP_MS);
      expect(this.#believers().length, this.story('two believe')).toBeLessThanOrEqual(1);
    }
  }

  #strike(): void {
    const seat = this.#seats[this.#random.u32() % this.#seats.length]!;
    const strokes = this.#strokes(seat);
    const names = Object.keys(strokes);
    const name = names[this.#random.u32() % names.length]!;
    this.#log.push(`${this.world.clock.monotonic()} ${seat.id} ${name}`);
    strokes[name]!();
  }

  #strokes({ store: { link }, clock, election, caller, ...seat }: Seat): Readonly<Record<string, () => void>> {
    return {
      'pause the process': () => {
        clock.pause();
        link.stall();
      },
      'pause the process, and lose what comes': () => {
        clock.pause();
        link.cutOff();
      },
      'set the wall clock forth': () => this.world.clock.advanceWall(this.#random.u32() % 3_000),
      'set the wall clock back': () => this.world.clock.advanceWall(-(this.#random.u32() % 3_000)),
      cut: () => link.cutOff(),
      refuse: () => link.refuse(),
      stall: () => link.stall(),
      reset: () => link.reset(),
      heal: () => link.heal(),
      'heal once more': () => link.heal(),
      'heal all': () => this.#healAll(),
      'heal all once more': () => this.#healAll(),
      'begin all': () => this.#seats.forEach((other) => this.#begin(other)),
      'lose an answer': () => link.dropReplies(1),
      'lose the answer of a write': () => link.dropReplies(1, { verbs: ['compareAndSwap', 'enqueue'], how: 'reset' }),
      'lose a request': () => link.dropRequests(1, { how: 'reset' }),
      'hold swaps': () => link.holdWrites('compareAndSwap'),
      'hold enqueues': () => link.holdWrites('enqueue'),
      'hold others': () => link.holdWrites('revokeLease'),
      release: () => link.release(),
      'give up': () => caller.abort(new Error('gave up')),
      begin: () => this.#begin(this.#seats.find(({ id }) => id === seat.id)!),
      resign: () => void election.leadership?.resign(),
      'hand over': () => void track(election.leadership?.handover() ?? Promise.resolve()),
      publish: () => void track(election.leadership?.publish({ at: this.world.clock.monotonic() }) ?? Promise.resolve()),
      'delete the record': () => void this.world.server.deleteKey(LEADER),
      'delete an entry': () => this.#deleteWaiting(),
      'delete the member': () => void this.world.server.deleteKey(`members/${seat.id}`),
    };
  }

  #healAll(): void {
    for (const { store, clock } of this.#seats) {
      clock.resume();
      store.link.heal();
    }
  }

  /** Spares the entry of the leader: deleting it while the leader is cut off makes a second leader. */
  #deleteWaiting(): void {
    const holder = this.world.json(TERM)?.['entry'];
    const waiting = this.world.server.keys().filter((key) => key.startsWith(CANDIDATES) && key !== holder);
    const key = waiting[this.#random.u32() % Math.max(waiting.length, 1)];
    if (key !== undefined) this.world.server.deleteKey(key);
  }
}
