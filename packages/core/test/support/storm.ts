/** Three members under random faults. The same seed gives the same faults. */

import type { MemoryStore } from '@incumbent/memory';
import { expect } from 'vitest';
import { type Election, ElectionAdmin, type Leadership, type Random } from '../../src/index.ts';
import { PausableClock } from '../../src/testing.ts';
import { seeded } from './random.ts';
import { track, type Tracked } from './track.ts';
import { CANDIDATES, LEADER, NAME, TERM, World, type WorldOptions } from './world.ts';

const TTL_MS = 2_000;
const STEP_MS = 20;

interface Participant {
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
  readonly #participants: Participant[] = [];
  readonly #leaderships = new Set<Leadership>();
  readonly #log: string[] = [];
  readonly #operator: ElectionAdmin;
  readonly #commands: Tracked<unknown>[] = [];

  constructor(seed: number, options: WorldOptions) {
    this.#random = seeded(seed);
    this.world = new World(options);
    this.#operator = new ElectionAdmin(this.world.connect({ latencyMs: () => 1 + (this.#random.u32() % 5) }), NAME);
    for (const id of ['a', 'b', 'c']) this.#participants.push(this.#join(id));
  }

  /** Injects this many faults. Checks all the time that at most one leadership is valid. */
  async rage(count: number): Promise<void> {
    for (let fault = 0; fault < count; fault += 1) {
      this.#injectFault();
      await this.#pass(STEP_MS * (1 + (this.#random.u32() % 15)));
    }
  }

  /** Mends everything; then there is one leader within a while, and it leads on. */
  async calm(): Promise<void> {
    for (const participant of this.#participants) {
      participant.clock.resume();
      participant.store.link.heal();
      this.#begin(participant);
    }
    await this.#pass(8 * TTL_MS);
    expect(this.#valid().length, this.story('nobody leads')).toBe(1);
    expect(this.#commands.filter(({ state }) => state === 'pending')).toEqual([]);
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

  #join(id: string): Participant {
    const store = this.world.connect({ latencyMs: () => 1 + (this.#random.u32() % 5) });
    const clock = new PausableClock(this.world.clock);
    const member = this.world.member(id, { ttlMs: TTL_MS, clock }, store);
    const participant = {
      id,
      store,
      clock,
      election: member.election(NAME),
      caller: new AbortController(),
      campaign: track(Promise.resolve()),
    };
    this.#begin(participant);
    return participant;
  }

  #begin(participant: Participant): void {
    if (participant.campaign.state === 'pending' && !participant.caller.signal.aborted) return;
    participant.caller = new AbortController();
    participant.campaign = track(participant.election.lead((leadership) => this.#work(leadership), { signal: participant.caller.signal }));
  }

  async #work(leadership: Leadership): Promise<void> {
    const last = this.terms.at(-1) ?? 0n;
    expect(leadership.term > last, this.story(`term ${leadership.term} after term ${last}`)).toBe(true);
    this.terms.push(leadership.term);
    this.#leaderships.add(leadership);
    await leadership.ended;
    this.#leaderships.delete(leadership);
  }

  #valid(): readonly Leadership[] {
    return [...this.#leaderships].filter((leadership) => leadership.isValid());
  }

  async #pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      await this.world.pass(STEP_MS);
      expect(this.#valid().length, this.story('two are valid')).toBeLessThanOrEqual(1);
    }
  }

  #injectFault(): void {
    const participant = this.#participants[this.#random.u32() % this.#participants.length]!;
    const count = this.#faults(participant);
    const names = Object.keys(count);
    const name = names[this.#random.u32() % names.length]!;
    this.#log.push(`${this.world.clock.monotonic()} ${participant.id} ${name}`);
    count[name]!();
  }

  #faults({ store: { link }, clock, election, caller, ...participant }: Participant): Readonly<Record<string, () => void>> {
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
      'begin all': () => this.#participants.forEach((other) => this.#begin(other)),
      'lose an answer': () => link.dropReplies(1),
      'lose the answer of a write': () => link.dropReplies(1, { operations: ['compareAndSwap', 'enqueue'], how: 'reset' }),
      'lose a request': () => link.dropRequests(1, { how: 'reset' }),
      'hold swaps': () => link.holdWrites('compareAndSwap'),
      'hold enqueues': () => link.holdWrites('enqueue'),
      'hold others': () => link.holdWrites('revokeLease'),
      release: () => link.release(),
      'give up': () => caller.abort(new Error('gave up')),
      begin: () => this.#begin(this.#participants.find(({ id }) => id === participant.id)!),
      resign: () => void election.leadership?.resign(),
      'hand over': () => void track(election.leadership?.handover() ?? Promise.resolve()),
      'step down': () => this.#command((term) => this.#operator.stepDown(term)),
      'request a handover': () => this.#command((term) => this.#operator.requestHandover(term, participant.id)),
      'withdraw the request': () => this.#command((term) => this.#operator.withdrawHandover(term)),
      publish: () => void track(election.leadership?.publish({ at: this.world.clock.monotonic() }) ?? Promise.resolve()),
      'delete the record': () => void this.world.server.deleteKey(LEADER),
      'delete an entry': () => this.#deleteWaiting(),
      'delete the member': () => void this.world.server.deleteKey(`members/${participant.id}`),
    };
  }

  /** An operator's command about the last term. */
  #command(send: (term: bigint) => Promise<unknown>): void {
    const term = this.world.json(TERM)?.['term'];
    if (typeof term === 'string') this.#commands.push(track(send(BigInt(term))));
  }

  #healAll(): void {
    for (const { store, clock } of this.#participants) {
      clock.resume();
      store.link.heal();
    }
  }

  /**
   * Spares the entry of the leader: deleting it while the leader is cut off makes a second leader.
   */
  #deleteWaiting(): void {
    const holder = this.world.json(TERM)?.['entry'];
    const waiting = this.world.server.keys().filter((key) => key.startsWith(CANDIDATES) && key !== holder);
    const key = waiting[this.#random.u32() % Math.max(waiting.length, 1)];
    if (key !== undefined) this.world.server.deleteKey(key);
  }
}
