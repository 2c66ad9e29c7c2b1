import { systemClock } from '@incumbent/core/adapter';
import type { AttemptOptions } from '@incumbent/network';
import { expect, it } from 'vitest';

import { AbandonedLeases } from '../src/abandoned-leases.ts';

it('the last attempt to end a lease keeps the process alive, so that close always settles', async () => {
  const abandoned = new AbandonedLeases(systemClock);
  const attempts: AttemptOptions[] = [];
  abandoned.add('a', async ({ left }) => {
    attempts.push(left);
    return new Promise<never>(
      (_, reject) => left.signal?.addEventListener('abort', () => reject(new Error('closed'))) ?? reject(new Error('late')),
    );
  });
  await abandoned.close();
  expect(attempts.map(({ background = false }) => background)).toEqual([true, false]);
});
