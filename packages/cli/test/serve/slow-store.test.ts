/** Requests about a term that wait for a slow store: over real HTTP, in simulated time. */

import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import type { Candidacy } from '../../src/serve/candidacy.ts';
import type { ApiServer } from '../../src/serve/http/server.ts';
import { startApi } from './api-server.ts';
import { SidecarWorld } from './world.ts';

const RENEW_WITHIN_MS = 1_000;

let world: SidecarWorld;
let candidacy: Candidacy;
let server: ApiServer;
beforeEach(async () => {
  world = new SidecarWorld();
  const sidecar = world.sidecar('s1');
  server = await startApi(() => sidecar);
  candidacy = sidecar.create('e', 'a', { renewWithinMs: RENEW_WITHIN_MS });
  await world.until(() => candidacy.document().leads);
});
afterEach(async () => {
  await server.close();
  await world[Symbol.asyncDispose]();
});

/** Sends a swap that the store holds, and resolves when the sidecar has read the request. */
async function swapHeld(signal?: AbortSignal): Promise<{ readonly answer: Promise<Response>; readonly release: () => void }> {
  const { link } = world.cluster.process('s1').store;
  link.holdWrites('compareAndSwap');
  const read = vi.spyOn(candidacy, 'leadership');
  const answer = fetch(new URL('/elections/e/candidacies/a/swap', server.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'candidacy-secret': candidacy.secret },
    body: JSON.stringify({ term: '1', changes: [{ key: 'app/x', expect: null, put: 'one' }] }),
    ...(signal === undefined ? {} : { signal }),
  });
  while (read.mock.calls.length === 0) await new Promise(setImmediate);
  return { answer, release: () => link.release() };
}

/** Lets simulated time pass, between events of the connection, until the candidacy is over. */
async function untilOver(): Promise<void> {
  while (!candidacy.isOver) {
    await new Promise(setImmediate);
    await world.pass(10);
  }
}

it('keep the candidacy until their answer is written', async () => {
  const { answer, release } = await swapHeld();
  await world.pass(2 * RENEW_WITHIN_MS);
  expect(candidacy.document().leads).toBe(true);
  release();
  await world.pass(10);
  expect(await (await answer).json()).toMatchObject({ swapped: true });
  await untilOver();
  expect(candidacy.overReason).toBe('expired');
});

it('keep it no longer than their connection', async () => {
  const gone = new AbortController();
  const { answer, release } = await swapHeld(gone.signal);
  gone.abort();
  await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
  await untilOver();
  expect(candidacy.overReason).toBe('expired');
  release();
});
