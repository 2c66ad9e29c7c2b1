import { systemClock } from '@incumbent/core';
import { expect, it, vi } from 'vitest';

import { Client } from '../src/client/client.ts';
import { Leftovers } from '../src/check-cleaner.ts';

/** More than any promise takes to be heard of by all who wait for it. */
const MICROTASKS = 12;

async function microtasks(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) await Promise.resolve();
}

it.each(Array.from({ length: MICROTASKS }, (_, index) => index))(
  'removes a check that is added %i microtasks after another was removed',
  async (after) => {
    const endpoint = { host: 'nowhere', port: 1 };
    const client = new Client({
      endpoint,
      connect: () => expect.unreachable(),
      connectTimeoutMs: 1,
      clock: systemClock,
      token: undefined,
      scope: {},
    });
    const first = Promise.withResolvers<void>();
    const removed: string[] = [];
    vi.spyOn(client, 'request').mockImplementation(async ({ path }) => {
      removed.push(path.slice(-1));
      await first.promise;
      return { status: 200, text: '', header: () => undefined };
    });
    const leftovers = new Leftovers(client, systemClock);
    leftovers.add('a');
    first.resolve();
    await microtasks(after);
    leftovers.add('b');
    await microtasks(MICROTASKS);
    expect(removed).toEqual(['a', 'b']);
    await leftovers.close();
  },
);
