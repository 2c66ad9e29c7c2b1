import { describe, expect, it } from 'vitest';

import { Member as CoreMember } from '@incumbent/core';
import { openMemory } from '@incumbent/memory';

import { Member, type Reaper, type Store } from '../src/index.ts';

const times: Reaper = { join: () => ({ watch: () => ({ renewed: () => {}, ended: () => {}, forget: () => {} }), close: async () => {} }) };

/** One whose leases another process could end. */
async function reachable(): Promise<Store> {
  return Object.assign(await openMemory(), { revocation: { module: 'm', access: '', ticketOf: () => undefined } });
}

describe('a member of the package incumbent', () => {
  it('is a Member of core', async () => {
    const store = await openMemory();
    const member = new Member(store, { memberId: 'a' });
    expect(member).toBeInstanceOf(CoreMember);
    expect(member.memberId).toBe('a');
    await member.close();
    await new Member(store).close();
  });

  it.each([true, false, undefined, times])('accepts %s as the option reaper', async (reaper) => {
    const member = new Member(await reachable(), reaper === undefined ? {} : { reaper });
    await member.close();
  });

  it('refuses a reaper on a store whose leases no other process can end', async () => {
    const store = await openMemory();
    expect(() => new Member(store, { reaper: true })).toThrow(/reaper is an object: it must be left out: leases of this memory store/);
  });

  it("refuses renewIn: 'worker' on a store whose leases a worker cannot renew, and other words", async () => {
    const store = await openMemory();
    expect(() => new Member(store, { renewIn: 'worker' })).toThrow(/renewIn is .*: a worker cannot renew leases of this memory store/);
    const wrong: { readonly renewIn: 'worker' } = JSON.parse('{"renewIn":"thread"}');
    expect(() => new Member(store, wrong)).toThrow(/renewIn is .*: it must be 'eventLoop' or 'worker'/);
    await new Member(store, { renewIn: 'eventLoop' }).close();
  });

  it('refuses values of other types as reaper and as options', async () => {
    const store = await openMemory();
    const wrong: { readonly reaper: boolean } = JSON.parse('{"reaper":"yes"}');
    expect(() => new Member(store, wrong)).toThrow(/reaper is a string of 3 characters/);
    expect(() => new Member(store, JSON.parse('7'))).toThrow(/member options is a number: it must be an object/);
  });
});
