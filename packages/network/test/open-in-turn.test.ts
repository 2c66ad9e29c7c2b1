import { expect, it } from 'vitest';

import { type Endpoint, openInTurn } from '@incumbent/network';

const endpoints: readonly Endpoint[] = ['a', 'b', 'c'].map((host) => ({ host, port: 1 }));

/** Opens in turn: `usable` names the servers that can be used. */
function begin(usable: string, { first = 0, abortAt = '' } = {}) {
  const stop = new AbortController();
  const dialled: string[] = [];
  const kept: string[] = [];
  const discarded: string[] = [];
  const opening = openInTurn(endpoints, {
    first,
    signal: stop.signal,
    open: async ({ host }) => {
      dialled.push(host);
      if (host === abortAt) stop.abort(new Error('the store was closed'));
      if (!usable.includes(host)) throw new Error(`${host} cannot be used`);
      return `to ${host}`;
    },
    keep: (opened, index) => void kept.push(`${opened} (${index})`),
    discard: (opened) => void discarded.push(opened),
    pickError: (errors) => errors[1],
  });
  opening.catch(() => {});
  return { stop, opening, dialled, kept, discarded };
}

it('dials the servers in turn, and stops at the first one that can be used', async () => {
  const { opening, dialled, kept } = begin('bc');
  expect(await opening).toBe('to b');
  expect([dialled, kept]).toEqual([['a', 'b'], ['to b (1)']]);
});

it('begins with the server that served last, and dials each server once', async () => {
  const { opening, dialled, kept } = begin('b', { first: 2 });
  expect(await opening).toBe('to b');
  expect([dialled, kept]).toEqual([['c', 'a', 'b'], ['to b (1)']]);
});

it('rejects with the picked error when no server can be used', async () => {
  const { opening, dialled } = begin('', { first: 1 });
  await expect(opening).rejects.toThrow('c cannot be used');
  expect(dialled).toEqual(['b', 'c', 'a']);
});

it('gives up when the signal aborts, and discards a connection that opens later', async () => {
  const opened = begin('b', { abortAt: 'b' });
  await expect(opened.opening).rejects.toThrow('the store was closed');
  expect([opened.dialled, opened.kept, opened.discarded]).toEqual([['a', 'b'], [], ['to b']]);
  const failed = begin('', { abortAt: 'a' });
  await expect(failed.opening).rejects.toThrow('the store was closed');
  expect([failed.dialled, failed.discarded]).toEqual([['a'], []]);
});

it('keeps a connection before a close in any later turn can miss it', async () => {
  for (let turns = 0; turns < 8; turns += 1) {
    const { stop, opening, kept, discarded } = begin('a');
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    const before = kept.length;
    stop.abort(new Error('the store was closed'));
    await opening.catch(() => {});
    // What was not kept when the store closed was discarded.
    expect([before, discarded.length]).toEqual(before === 1 ? [1, 0] : [0, 1]);
  }
});
