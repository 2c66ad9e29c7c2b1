import { openMemory } from '@incumbent/memory';
import { expect, it } from 'vitest';

import { Member, type Store } from '../../src/index.ts';

/** A store whose revocation no thread can get: a function cannot be sent. */
async function unsendable(): Promise<Store> {
  const revocation = { module: 'm', access: '', renews: true, ticketOf: (lease: string) => lease };
  Object.assign(revocation, { access: () => {} });
  return Object.assign(await openMemory(), { revocation });
}

it('a member leads without its worker if the worker cannot be started, and says so', async () => {
  const store = await unsendable();
  const events: unknown[] = [];
  const note = (fields: object): void => void events.push('event' in fields ? fields.event : undefined);
  const member = new Member(store, { renewIn: 'worker', logger: { debug: note, info: note, warn: note, error: note } });
  const leadership = await member.election('e').campaign();
  expect(leadership.isValid()).toBe(true);
  expect(events).toContain('renewerLost');
  await member.close();
  await store.close();
});
