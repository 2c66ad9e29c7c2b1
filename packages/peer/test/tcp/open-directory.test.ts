/** The seeds and the idle members of an open membership, without a network. */

import { Telemetry } from '@incumbent/core/adapter';
import { seeded } from '@incumbent/core/testing';
import { ManualClock } from '@incumbent/memory';
import type { Endpoint } from '@incumbent/network';
import { describe, expect, it } from 'vitest';
import { newIncarnation } from '../../src/tcp/handshake.ts';
import { OpenDirectory } from '../../src/tcp/open-directory.ts';
import { logger } from '../support.ts';

type Seeds = ReadonlyMap<string, Endpoint>;

const seedsAt = (port: number): Seeds => new Map([['b', { host: '127.0.0.1', port }]]);

/** A directory whose dialling always fails. */
class World {
  readonly clock = new ManualClock();
  readonly log = logger();
  readonly found: string[] = [];
  readonly directory: OpenDirectory;
  readonly #closing = new AbortController();

  constructor(seeds: () => Promise<Seeds>) {
    const { clock } = this;
    const group = { kind: 'open', seeds, isFixed: false, address: '127.0.0.1:7400' } as const;
    const self = { memberId: 'a', incarnation: newIncarnation(), security: { kind: 'insecure' } } as const;
    const refuse = (): void => {};
    this.directory = new OpenDirectory(group, {
      memberId: 'a',
      neighbour: { clock, keepaliveMs: 1_000, telemetry: new Telemetry(this.log, {}), receive: () => {}, refuse },
      dialer: { clock, random: seeded(1), handshakeTimeoutMs: 1_000, self, closing: this.#closing.signal, refuse },
      connect: async () => Promise.reject(new Error('nobody listens there')),
    });
    this.directory.begin();
    const found = (_self: string, contacts: readonly { readonly address: string }[]): void =>
      void this.found.push(contacts.map(({ address }) => address).join());
    this.directory.enter({ memberId: 'a', members: 'open', receive: () => {}, found });
  }

  get failures(): readonly string[] {
    return this.log.lines.map(({ message, fields }) => `${message}: ${'err' in fields ? String(fields.err) : ''}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const why = new Error('the transport was closed');
    this.#closing.abort(why);
    await this.clock.run(this.directory.close(why));
    expect(this.clock.timers).toBe(0);
  }
}

describe('a `seeds` function that hangs once', () => {
  it('is reported after 10 s and called again, and its late answer does not replace a newer one', async () => {
    const late = Promise.withResolvers<Seeds>();
    let calls = 0;
    await using world = new World(async () => {
      calls += 1;
      return calls === 1 ? late.promise : seedsAt(7_402);
    });
    await world.clock.advance(9_999);
    expect([calls, world.failures]).toEqual([1, []]);
    await world.clock.advance(10_000);
    expect(world.failures).toEqual([
      'could not find out who the seeds are; asked again: Error: the seeds function has not answered within 10 s',
    ]);
    expect(world.found).toEqual(['127.0.0.1:7402']);
    late.resolve(seedsAt(7_401));
    await world.clock.advance(1);
    expect(world.found).toEqual(['127.0.0.1:7402']);
  });
});

describe('a `seeds` function that takes 12 s', () => {
  it('is reported, and its answer counts', async () => {
    const first = Promise.withResolvers<Seeds>();
    let calls = 0;
    await using world = new World(async () => {
      calls += 1;
      return calls === 1 ? first.promise : new Promise(() => {});
    });
    await world.clock.advance(12_000);
    expect(world.failures).toHaveLength(1);
    first.resolve(seedsAt(7_401));
    await world.clock.advance(1);
    expect(world.found).toEqual(['127.0.0.1:7401']);
  });
});

describe('a `seeds` function that always hangs', () => {
  it('is called again after 10 s, and members that have been idle for long are forgotten anyway', async () => {
    let calls = 0;
    await using world = new World(async () => {
      calls += 1;
      return new Promise(() => {});
    });
    world.directory.reach('c', '127.0.0.1:7403');
    await world.clock.advance(60_000);
    expect([...world.directory.neighbours].map(({ memberId }) => memberId)).toEqual(['c']);
    await world.clock.advance(6_000);
    expect([...world.directory.neighbours]).toEqual([]);
    // At the beginning, and whenever 10 s are over.
    expect(calls).toBe(7);
  });
});
