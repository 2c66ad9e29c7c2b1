/** The connection that all watches of a store share, without a server. */

import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';

import type { Connection, ConnectionSource } from '../src/client/connection.ts';
import { cut, ExchangeError } from '../src/client/failure.ts';
import type { Row } from '../src/client/rows.ts';
import { WatchHub } from '../src/watch-hub/watch-hub.ts';
import type { RegisteredWatch } from '../src/watch.ts';

const PROCESS_ID = 7;

/** A server on which nothing changes, with a lease that ends in an hour. */
class Server implements ConnectionSource {
  readonly username = 'u';
  readonly database = 'd';
  /** How many connections were opened. */
  opened = 0;
  /** Who waits for the end of a connection. */
  listeners = 0;
  probes = 0;
  /** The counter of the namespace. */
  revision = 1;
  /** The SQLSTATE of its answer to each question. Undefined: it answers with the counter. */
  refuses: string | undefined;
  /** Ends the last connection. */
  drop: () => void = () => {};
  notify: (payload: string) => void = () => {};

  async open(_: AbortSignal, onNotification: (payload: string) => void = () => {}): Promise<Connection> {
    this.notify = onNotification;
    const waits = (): void => {
      this.listeners += 1;
    };
    this.opened += 1;
    const ended = Promise.withResolvers<ExchangeError>();
    let usable = true;
    const end = (error: ExchangeError): void => {
      usable = false;
      ended.resolve(error);
    };
    this.drop = () => end(cut('the server ended the connection'));
    const connection: Pick<Connection, 'usable' | 'ended' | 'processId' | 'query' | 'end'> = {
      processId: PROCESS_ID,
      get usable() {
        return usable;
      },
      get ended() {
        waits();
        return ended.promise;
      },
      query: async (statement) => this.#answer(statement),
      end,
    };
    return connection as Connection;
  }

  async idle(): Promise<void> {}

  #answer(statement: string): readonly Row[] {
    if (statement.includes('pg_backend_pid')) return [[String(PROCESS_ID)]];
    if (statement.includes('LISTEN')) return [];
    this.probes += 1;
    if (this.refuses !== undefined)
      throw new ExchangeError({ kind: 'answer', answer: { state: this.refuses, text: 'the refusal' } }, 'the refusal');
    return [[String(this.revision), '3600000']];
  }
}

function hubOf(server: Server, clock: ManualClock): WatchHub {
  const location = { schema: 'incumbent', namespace: 'n', source: server };
  return new WatchHub({ clock, location, channel: 'c', reads: { query: () => Promise.resolve([]) } });
}

const watch: RegisteredWatch = {
  query: { key: 'k' },
  onConnected: () => {},
  onDisconnected: () => {},
  invalidate: () => {},
  fail: () => {},
};

/** A watch that counts how often the hub makes it read again. */
function countedWatch(): RegisteredWatch & { readonly reads: number } {
  let reads = 0;
  return {
    ...watch,
    invalidate: () => {
      reads += 1;
    },
    get reads() {
      return reads;
    },
  };
}

it('adds no listener to the connection with each question', async () => {
  const [clock, server] = [new ManualClock(), new Server()];
  const hub = hubOf(server, clock);
  hub.add(watch);
  await clock.advance(10_000);
  const { listeners, probes } = server;
  await clock.advance(300_000);
  expect(server.probes).toBeGreaterThan(probes + 50);
  expect(server.listeners).toBe(listeners);
  hub.close();
});

it('connects again at once when its connection ends', async () => {
  const [clock, server] = [new ManualClock(), new Server()];
  const hub = hubOf(server, clock);
  hub.add(watch);
  await clock.advance(100);
  server.drop();
  // The next question would be due later.
  await clock.advance(1_000);
  expect(server.opened).toBe(2);
  hub.close();
});

it('leaves no timer when it is closed', async () => {
  const [clock, server] = [new ManualClock(), new Server()];
  const hub = hubOf(server, clock);
  hub.add(watch);
  await clock.advance(1_000);
  hub.close();
  await clock.advance(0);
  expect(clock.timers).toBe(0);
});

it('asks for lost notifications however many notifications arrive', async () => {
  const [clock, server] = [new ManualClock(), new Server()];
  const hub = hubOf(server, clock);
  hub.add(watch);
  await clock.advance(100);
  for (let s = 0; s < 30; s += 1) {
    server.notify('1 99999999\nsomebody-else');
    await clock.advance(1_000);
  }
  // Once every 3 s.
  expect(server.probes).toBeGreaterThan(8);
  hub.close();
});

describe('a counter that is lower than before, as after a restore in one transaction', () => {
  it('makes the watches read again, once', async () => {
    const [clock, server, counted] = [new ManualClock(), new Server(), countedWatch()];
    server.revision = 100;
    const hub = hubOf(server, clock);
    hub.add(counted);
    await clock.advance(10_000);
    expect(counted.reads).toBe(0);
    server.revision = 50;
    await clock.advance(20_000);
    expect(counted.reads).toBe(1);
    hub.close();
  });

  it('does not hide that later notifications are lost', async () => {
    const [clock, server, counted] = [new ManualClock(), new Server(), countedWatch()];
    server.revision = 100;
    const hub = hubOf(server, clock);
    hub.add(counted);
    await clock.advance(10_000);
    server.revision = 50;
    await clock.advance(10_000);
    server.revision = 60;
    await clock.advance(10_000);
    expect(counted.reads).toBe(2);
    hub.close();
  });
});

it('finds lost notifications after a forged one with a huge counter', async () => {
  const [clock, server, counted] = [new ManualClock(), new Server(), countedWatch()];
  const hub = hubOf(server, clock);
  hub.add(counted);
  await clock.advance(100);
  server.notify('8999999999999999 -\nsomebody-else');
  await clock.advance(10_000);
  server.revision = 2;
  await clock.advance(10_000);
  expect(counted.reads).toBe(1);
  hub.close();
});

it('reads nothing again when each change was notified', async () => {
  const [clock, server, counted] = [new ManualClock(), new Server(), countedWatch()];
  const hub = hubOf(server, clock);
  hub.add(counted);
  await clock.advance(100);
  for (let change = 2; change < 20; change += 1) {
    server.revision = change;
    server.notify(`${change} 3600000\nsomebody-else`);
    await clock.advance(1_000);
  }
  expect(counted.reads).toBe(0);
  hub.close();
});

/** A watch that notes what the hub tells it. */
function notingWatch(): RegisteredWatch & { readonly told: readonly string[] } {
  const told: string[] = [];
  return {
    ...watch,
    told,
    onConnected: () => void told.push('connected'),
    onDisconnected: (cause) => void told.push(cause instanceof Error ? cause.message : String(cause)),
    fail: (error) => void told.push(`failed: ${String(error)}`),
  };
}

describe('a server whose answers say that a lock is held', () => {
  it.each(['55P03', '40P01', 'IC002'])('(%s) makes watches stale, until it answers the question', async (state) => {
    const [clock, server, noting] = [new ManualClock(), new Server(), notingWatch()];
    const hub = hubOf(server, clock);
    hub.add(noting);
    await clock.advance(100);
    server.refuses = state;
    await clock.advance(10_000);
    expect([...new Set(noting.told)]).toEqual(['connected', 'postgres watch: the refusal']);
    // A watch that comes meanwhile learns of it too.
    const later = notingWatch();
    hub.add(later);
    await clock.advance(1_000);
    expect(later.told[0]).toBe('postgres watch: the refusal');
    server.refuses = undefined;
    await clock.advance(1_000);
    expect([noting.told.at(-1), later.told.at(-1)]).toEqual(['connected', 'connected']);
    const told = noting.told.length;
    await clock.advance(10_000);
    expect(noting.told).toHaveLength(told);
    expect(server.opened).toBe(1);
    hub.close();
  });

  it('once makes no watch stale', async () => {
    const [clock, server, noting] = [new ManualClock(), new Server(), notingWatch()];
    const hub = hubOf(server, clock);
    hub.add(noting);
    await clock.advance(100);
    for (let refusals = 0; refusals < 5; refusals += 1) {
      server.refuses = '55P03';
      const { probes } = server;
      while (server.probes === probes) await clock.advance(50);
      server.refuses = undefined;
      await clock.advance(1_000);
    }
    expect(noting.told).toEqual(['connected']);
    hub.close();
  });
});

it('passes on why a server has refused its question, and connects again', async () => {
  const [clock, server, noting] = [new ManualClock(), new Server(), notingWatch()];
  const hub = hubOf(server, clock);
  hub.add(noting);
  await clock.advance(100);
  server.refuses = 'IC001';
  await clock.advance(4_000);
  expect(noting.told.slice(0, 2)).toEqual(['connected', 'postgres watch: the refusal']);
  server.refuses = undefined;
  await clock.advance(5_000);
  expect(noting.told.at(-1)).toBe('connected');
  expect(server.opened).toBeGreaterThan(1);
  hub.close();
});
