/**
 * Random worlds of sidecars and clients with faults: at no time may two clients lead. A client
 * leads until the end of the longest promise that it was given, whatever happens to it or to its
 * sidecar, unless it has said that its work has stopped.
 */

import { type Clock, ElectionAdmin } from '@incumbent/core';
import { seeded } from '@incumbent/core/testing';
import { describe, expect, it } from 'vitest';

import type { Sidecar } from '../../src/serve/sidecar.ts';
import { type Client, SidecarWorld } from './world.ts';

const SEEDS = 25;
const STEPS = 250;
const SIDECARS = ['s1', 's2'] as const;

class PromiseWorld {
  readonly world = new SidecarWorld();
  readonly #random: () => number;
  readonly #sidecars: readonly Sidecar[];
  readonly #clients = new Map<string, Client>();
  /** Until when the clients may lead, on the world's clock. */
  readonly #leadsUntil = new Map<string, number>();
  readonly #faulty = new Set<string>();
  promises = 0;
  terms = 0n;

  constructor(seed: number) {
    const { u32 } = seeded(seed);
    this.#random = () => u32() / 2 ** 32;
    this.#sidecars = SIDECARS.map((id) => this.world.sidecar(id));
  }

  async step(): Promise<void> {
    const roll = this.#random();
    if (roll < 0.55) this.#ask();
    else if (roll < 0.75) this.#act();
    else if (roll < 0.82) this.#fault();
    else if (roll < 0.85) this.#stepDown();
    await this.world.pass(Math.floor(this.#random() * 800));
  }

  heal(): void {
    for (const id of this.#faulty) this.#heal(id);
  }

  #heal(id: string): void {
    this.world.cluster.resume(id);
    this.world.cluster.heal(id);
  }

  #pick<T>(from: readonly T[]): T {
    const picked = from[Math.floor(this.#random() * from.length)];
    if (picked === undefined) throw new RangeError('there is nothing to pick from');
    return picked;
  }

  #ask(): void {
    const sidecar = this.#pick(this.#sidecars);
    // A paused sidecar answers nobody.
    if (this.#faulty.has(sidecar.member.memberId)) return;
    const id = `${sidecar.member.memberId}-${this.#pick(['a', 'b', 'c'])}`;
    const { candidacy } = this.#client(sidecar, id);
    candidacy.renew();
    const { validForMs, term = 0n } = candidacy.document();
    if (validForMs === 0) return;
    for (const [other, untilMs] of this.#leadsUntil)
      if (other !== id) expect(untilMs, `${other} still leads while ${id} leads in term ${term}`).toBeLessThanOrEqual(this.world.nowMs);
    this.#leadsUntil.set(id, Math.max(this.#leadsUntil.get(id) ?? 0, this.world.nowMs + validForMs));
    this.promises += 1;
    if (term > this.terms) this.terms = term;
  }

  #client(sidecar: Sidecar, id: string): Client {
    const known = this.#clients.get(id);
    if (known !== undefined && !known.candidacy.isOver) return known;
    const client = this.world.client(sidecar, id, { renewWithinMs: this.#pick([500, 3_000, 20_000]) });
    this.#clients.set(id, client);
    return client;
  }

  /** The client does something of its own: it stops in order, or it is gone. */
  #act(): void {
    if (this.#clients.size === 0) return;
    const [id, { candidacy, disconnect }] = this.#pick([...this.#clients]);
    const { term, leads, member } = candidacy.document();
    if (this.#faulty.has(member)) return;
    const roll = this.#random();
    if (roll < 0.3) return disconnect();
    if (term === undefined) return;
    // All else says that the work has stopped.
    this.#leadsUntil.set(id, this.world.nowMs);
    if (roll < 0.5) candidacy.end('withdrawn');
    else if (!leads) candidacy.acknowledge(term);
    else if (roll < 0.75) candidacy.resign(term).catch(() => {});
    else candidacy.handover(term, undefined).catch(() => {});
  }

  #fault(): void {
    const id = this.#pick(SIDECARS);
    const { cluster } = this.world;
    if (this.#faulty.delete(id)) return this.#heal(id);
    this.#faulty.add(id);
    if (this.#random() < 0.5) cluster.pause(id);
    else cluster.cutOff(id);
  }

  #stepDown(): void {
    const admin = new ElectionAdmin(this.world.cluster.process('operator').store, 'e');
    admin.stepDown(this.terms).catch(() => {});
  }
}

describe('at no time may two clients lead', () => {
  it('even if the timers of the sidecar run a little too early', async () => {
    await using world = new SidecarWorld();
    const { clock } = world.cluster.process('s1').options;
    const early: Clock = {
      monotonic: () => clock.monotonic(),
      wall: () => clock.wall(),
      keepAlive: () => clock.keepAlive(),
      schedule: (ms, task) => clock.schedule(ms > 10 ? ms - 3 : ms, task),
    };
    const { candidacy } = world.client(world.sidecar('s1', { clock: early }), 'a', { renewWithinMs: 3_000 });
    const { candidacy: other } = world.client(world.sidecar('s2'), 'b');
    await world.until(() => candidacy.document().leads);
    const believedUntilMs = world.nowMs + candidacy.document().validForMs;
    candidacy.end('disconnected');
    while (world.nowMs < believedUntilMs) {
      expect(other.document().leads).toBe(false);
      await world.pass(1);
    }
    await world.until(() => other.document().leads);
  });

  it(`in ${SEEDS} random worlds`, async () => {
    let promises = 0;
    let terms = 0;
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const worlds = new PromiseWorld(seed);
      for (let i = 0; i < STEPS; i += 1) await worlds.step();
      worlds.heal();
      promises += worlds.promises;
      terms += Number(worlds.terms);
      await worlds.world[Symbol.asyncDispose]();
    }
    // The worlds are not empty.
    expect(promises / SEEDS).toBeGreaterThan(10);
    expect(terms / SEEDS).toBeGreaterThan(5);
  });
});
