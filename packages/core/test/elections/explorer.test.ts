/**
 * Explores every order of events among two or three candidates: the real transitions and swaps, on
 * a small store. Calls may fail, answers may be lost, writes applied late, keys deleted by an
 * operator, campaigns aborted. After every step at most one candidate leads, and terms rise. From
 * every state, once all faults end, somebody leads and nothing is left behind.
 */

import { describe, expect, it } from 'vitest';
import { byPriority } from '../../src/index.ts';
import { search, type Case } from '../support/explore/case.ts';
import { Shelf } from '../support/explore/shelf.ts';

/** A watchdog: the longest takes some seconds on a quiet machine. */
const MAX_MS = 600_000;

function whole(cases: Readonly<Record<string, Case>>): void {
  it.each(Object.entries(cases))('%s', { timeout: MAX_MS }, (_, one) => {
    const found = search(one);
    expect(found.exhausted, `${found.states} states, ${found.deepest} deep`).toBe(true);
    expect(found.elections).toBeGreaterThan(1);
  });
}

describe('the store of the explorer', () => {
  it('has another key if another key has been written more often', () => {
    const written = (...keys: readonly string[]): Shelf =>
      keys.reduce((shelf, key) => shelf.put(key, '', undefined), new Shelf(true, false)).delete(...keys);
    expect(written('a', 'b', 'b').put('a', '', undefined).read('a')?.revision).toBe('a@2');
    expect(written('b', 'a', 'a').put('a', '', undefined).read('a')?.revision).toBe('a@3');
    expect(written('a', 'b', 'b').key).not.toBe(written('b', 'a', 'a').key);
    expect(written('a', 'b', 'b').key).toBe(written('b', 'b', 'a').key);
  });
});

describe('two candidates', () => {
  const twoSteps = { inOne: false };
  whole({
    'lose two answers': { candidates: 2, budget: { lost: 2 } },
    'fail a call and lose an answer': { candidates: 2, budget: { failed: 1, lost: 1 } },
    'fail a call, lose an answer and stop, where revisions restart': {
      candidates: 2,
      budget: { failed: 1, lost: 1, stopped: 1 },
      ...twoSteps,
    },
    'fail a call, hand over and lose an answer': { candidates: 2, budget: { failed: 1, handovers: 1, lost: 1 } },
    'fail two calls and hand over, in one swap': { candidates: 2, budget: { failed: 2, handovers: 1 } },
    'fail two calls and hand over, in two steps': { candidates: 2, budget: { failed: 2, handovers: 1 }, ...twoSteps },
    'lose an answer and stop at any point': { candidates: 2, budget: { lost: 1, stopped: 2 } },
    'lose an answer and stop at any point, where revisions restart': { candidates: 2, budget: { lost: 1, stopped: 2 }, ...twoSteps },
    'lose an answer and a key to an operator': { candidates: 2, budget: { lost: 1, deleted: 1 } },
    'lose an answer and a key to an operator, where revisions restart': { candidates: 2, budget: { lost: 1, deleted: 1 }, ...twoSteps },
    'lose an answer, a lease and a claim timeout': { candidates: 2, budget: { lost: 1, expired: 1, timeouts: 1 } },
    'lose an answer, a lease and a key to an operator': { candidates: 2, budget: { lost: 1, expired: 1, deleted: 1 } },
    'lose an answer, a lease and a key to an operator, where revisions restart': {
      candidates: 2,
      budget: { lost: 1, expired: 1, deleted: 1 },
      ...twoSteps,
    },
    'lose a key to an operator, and a claim timeout': { candidates: 2, budget: { deleted: 1, timeouts: 1 } },
    'follow by priority and lose a key to an operator': { candidates: 2, budget: { deleted: 1 }, succession: byPriority(0) },
    'hand over, in one swap, and lose two answers': { candidates: 2, budget: { handovers: 1, lost: 2 } },
    'hand over, in one swap, lose an answer and stop': { candidates: 2, budget: { handovers: 1, lost: 1, stopped: 1 } },
    'hand over, in one swap, lose an answer and a lease': { candidates: 2, budget: { handovers: 1, lost: 1, expired: 1 } },
    'hand over, in one swap, and lose a key to an operator': { candidates: 2, budget: { handovers: 1, deleted: 1 } },
    'hand over, in one swap, while an operator makes a request in the entry and withdraws it': {
      candidates: 2,
      budget: { handovers: 1, requests: 2 },
    },
    'hand over, in one swap, with a request, a lost answer and a stop': {
      candidates: 2,
      budget: { handovers: 1, requests: 1, lost: 1, stopped: 1 },
    },
    'hand over, in one swap, with a request and a key lost to an operator': {
      candidates: 2,
      budget: { handovers: 1, requests: 1, deleted: 1 },
    },
    'hand over twice, in one swap, and lose a key to an operator': { candidates: 2, budget: { handovers: 2, deleted: 1 } },
    'hand over, in one swap, lose an answer and a key to an operator': {
      candidates: 2,
      budget: { handovers: 1, lost: 1, deleted: 1 },
    },
    'hand over twice, in one swap, and lose an answer': { candidates: 2, budget: { handovers: 2, lost: 1 } },
    'hand over, in two steps, lose an answer and stop': { candidates: 2, budget: { handovers: 1, lost: 1, stopped: 1 }, ...twoSteps },
    'hand over, in two steps, and lose a key to an operator': { candidates: 2, budget: { handovers: 1, deleted: 1 }, ...twoSteps },
    'hand over, in two steps, lose an answer and a claim timeout': {
      candidates: 2,
      budget: { handovers: 1, lost: 1, timeouts: 1 },
      ...twoSteps,
    },
    'follow by priority and lose an answer and a claim timeout': {
      candidates: 2,
      budget: { lost: 1, timeouts: 1 },
      succession: byPriority(0),
    },
    'follow by priority, hand over and lose an answer': { candidates: 2, budget: { lost: 1, handovers: 1 }, succession: byPriority(0) },
  });
});

describe('two candidates, where all keys of a swap have one revision', () => {
  const handover = { candidates: 2, shares: true };
  whole({
    'hand over and lose two answers': { ...handover, budget: { handovers: 1, lost: 2 } },
    'hand over, lose an answer and stop': { ...handover, budget: { handovers: 1, lost: 1, stopped: 1 } },
    'hand over, lose an answer and a lease': { ...handover, budget: { handovers: 1, lost: 1, expired: 1 } },
    'hand over, lose an answer and a key to an operator': { ...handover, budget: { handovers: 1, lost: 1, deleted: 1 } },
    'hand over twice, and lose a key to an operator': { ...handover, budget: { handovers: 2, deleted: 1 } },
    'hand over, with two requests and a stop': { ...handover, budget: { handovers: 1, requests: 2, stopped: 1 } },
    'hand over, with a request and a key lost to an operator': { ...handover, budget: { handovers: 1, requests: 1, deleted: 1 } },
    'hand over, with a request of an older operator': { ...handover, budget: { handovers: 1, requests: 1, lost: 1 }, older: ['operator'] },
  });

  it.each(['1', '2'])('hand over, where member %s has an older version', { timeout: MAX_MS }, (id) => {
    const budget = { handovers: 2, lost: 1 };
    for (const shares of [true, false]) expect(search({ candidates: 2, budget, shares, older: [id] }).exhausted).toBe(true);
  });
});

describe('candidates whose enqueue also reads the queue and the term', () => {
  const two = { candidates: 2, looks: true };
  whole({
    'lose two answers': { ...two, budget: { lost: 2 } },
    'lose an answer and stop at any point': { ...two, budget: { lost: 1, stopped: 2 } },
    'lose an answer and a key to an operator, where revisions restart': { ...two, budget: { lost: 1, deleted: 1 }, inOne: false },
    'lose an answer, a lease and a claim timeout': { ...two, budget: { lost: 1, expired: 1, timeouts: 1 } },
    'hand over, lose an answer and stop': { ...two, budget: { handovers: 1, lost: 1, stopped: 1 }, shares: true },
    'hand over, lose an answer and a lease': { ...two, budget: { handovers: 1, lost: 1, expired: 1 }, shares: true },
    'hand over in two steps, lose an answer and stop': { ...two, budget: { handovers: 1, lost: 1, stopped: 1 }, inOne: false },
    'are three, and hand over': { candidates: 3, looks: true, budget: { handovers: 1 }, shares: true },
    'are three, and stop at any point': { candidates: 3, looks: true, budget: { stopped: 1 } },
  });
});

describe('a leader that knows its successor in advance', () => {
  const known = { candidates: 2, led: true };
  whole({
    'loses an answer': { ...known, budget: { looks: 1, lost: 1 } },
    'loses two answers, where all keys of a swap have one revision': { ...known, budget: { looks: 1, lost: 2 }, shares: true },
    'loses a key to an operator': { ...known, budget: { looks: 1, deleted: 1 } },
    'loses a key to an operator, and looks twice': { ...known, budget: { looks: 2, deleted: 1 }, shares: true },
    'loses an answer and a lease': { ...known, budget: { looks: 1, lost: 1, expired: 1 } },
    'loses an answer, and its successor stops': { ...known, budget: { looks: 1, lost: 1, stopped: 1 }, shares: true },
    'hands over and loses an answer': { ...known, budget: { looks: 1, handovers: 1, lost: 1 } },
    'hands over in two steps, and loses an answer and a key': {
      ...known,
      budget: { looks: 1, handovers: 1, lost: 1, deleted: 1 },
      inOne: false,
    },
    'gets a request': { ...known, budget: { looks: 1, requests: 1, stopped: 1 }, shares: true },
    'is one of three, and its successor stops': { candidates: 3, led: true, budget: { looks: 1, stopped: 1 } },
    'is one of three, and loses a lease': { candidates: 3, led: true, budget: { looks: 1, expired: 1 }, shares: true },
    'is one of three, and hands over in two steps': { candidates: 3, led: true, budget: { looks: 1, handovers: 1 }, inOne: false },
  });
});

describe('three candidates', () => {
  whole({
    'are left alone': { candidates: 3 },
    'hand over in one swap': { candidates: 3, budget: { handovers: 1 } },
    'hand over in one swap of one revision': { candidates: 3, budget: { handovers: 1 }, shares: true },
    'hand over in two steps': { candidates: 3, budget: { handovers: 1 }, inOne: false },
    'stop at any point': { candidates: 3, budget: { stopped: 1 } },
    'lose a lease': { candidates: 3, budget: { expired: 1 } },
  });

  it.each(Object.entries({ 'lose an answer': { lost: 1 }, 'lose a key to an operator': { deleted: 1 } }))('%s', (_, budget) => {
    const found = search({ candidates: 3, budget, maxStates: 10_000 });
    expect(found.deepest).toBeGreaterThanOrEqual(10);
    expect(found.elections).toBeGreaterThan(1);
  });
});
