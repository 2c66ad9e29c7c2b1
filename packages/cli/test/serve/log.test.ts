/** What `serve` writes on standard error when a client is gone, silent, or does not acknowledge. */

import { ElectionAdmin } from '@incumbent/core';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { Printer } from '../../src/index.ts';
import type { Verbosity } from '../../src/run/log.ts';
import { CONNECT_WITHIN_MS } from '../../src/serve/candidacy.ts';
import { ServeLog } from '../../src/serve/log.ts';
import { READ_MS } from '../../src/serve/silence-timer.ts';
import type { Sidecar } from '../../src/serve/sidecar.ts';
import { DRAIN_MS, SidecarWorld } from './world.ts';

let world: SidecarWorld;
let written: string[];
beforeEach(() => {
  world = new SidecarWorld();
  written = [];
});
afterEach(async () => world[Symbol.asyncDispose]());

function sidecar(verbosity: Verbosity = 'normal'): Sidecar {
  const stream = { write: (text: string): boolean => written.push(text) > 0, on: () => {} };
  return world.sidecar('s1', new ServeLog(new Printer(stream, {}), verbosity).sidecarOptions);
}

/** The lines that were written since the last call. */
function lines(): readonly string[] {
  return written.splice(0).map((line) => line.replace(/^incumbent: /, '').trimEnd());
}

/** A candidacy that leads in term 1, whose client falls silent or loses its stream. */
async function leads(one: Sidecar, renewWithinMs: number | null): Promise<() => void> {
  const { candidacy, disconnect } = world.client(one, 'w1', { renewWithinMs });
  await world.until(() => candidacy.document().leads);
  expect(lines()).toEqual(['"w1" leads "e" in term 1']);
  return disconnect;
}

it('a client that leads and sends no request in time is said to be silent', async () => {
  await leads(sidecar(), 15_000);
  await world.pass(16_000);
  expect(lines()).toEqual([
    'the candidacy "w1" of "e" is over: no request with its secret has come for 15s',
    '"w1" leads "e" no more in term 1: resigned, because its candidacy is over (expired)',
  ]);
});

it('a client that leads and loses its stream is said to be disconnected', async () => {
  const disconnect = await leads(sidecar(), 15_000);
  disconnect();
  await world.pass(DRAIN_MS);
  expect(lines()).toEqual([
    'the candidacy "w1" of "e" is over: its last event stream has closed',
    '"w1" leads "e" no more in term 1: resigned, because its candidacy is over (disconnected)',
  ]);
});

it('a client that waits is said to be gone, too', async () => {
  const one = sidecar();
  await leads(one, 60_000);
  one.create('e', 'w2', { renewWithinMs: 3_000 });
  one.create('e', 'w3', { renewWithinMs: null });
  await world.pass(CONNECT_WITHIN_MS + READ_MS + 10);
  expect(lines()).toEqual([
    'the candidacy "w2" of "e" is over: no request with its secret has come for 3s',
    'the candidacy "w3" of "e" is over: no event stream was opened within 10s',
  ]);
});

it('a client that stops in order is said to have withdrawn', async () => {
  const one = sidecar();
  await leads(one, 15_000);
  one.find('e', 'w1')?.end('withdrawn');
  await world.pass(100);
  expect(lines()).toEqual(['"w1" leads "e" no more in term 1: resigned, because its candidacy is over (withdrawn)']);
});

it.each(['normal', 'verbose', 'quiet'] as const)('a client that does not acknowledge is named once (%s)', async (verbosity) => {
  const { candidacy } = world.client(sidecar(verbosity), 'w1');
  await world.until(() => candidacy.document().leads);
  const admin = new ElectionAdmin(world.cluster.process('operator').store, 'e');
  expect(await world.cluster.run(admin.stepDown(1n))).toBe(true);
  await world.pass(2 * DRAIN_MS);
  const drain = lines().filter((line) => line.includes('drain'));
  expect(drain).toEqual([
    '"w1" has not acknowledged within the drain that its work for "e" in term 1 has stopped: another process may lead meanwhile. ' +
      '"w1" does not lead again before its client sends POST …/acknowledge',
  ]);
});

it('a client that does not acknowledge while the sidecar closes is named', async () => {
  const one = sidecar();
  await leads(one, null);
  await world.cluster.run(one.close());
  expect(lines()).toEqual([
    expect.stringMatching(/^"w1" leads "e" no more in term 1: \w+, because its candidacy is over \(closing\)$/),
    '"w1" has not acknowledged within the drain that its work for "e" in term 1 has stopped: another process may lead meanwhile',
  ]);
});
