/** The identity of members: duplicate ids, other versions, data written by others. */

import assert from 'node:assert/strict';
import { isIncumbentError, type ErrorCode } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import { begun } from '../time.ts';
import { endOf, enqueueForeign, NAME, type Arena } from './arena.ts';
import { electionCasesOf } from './define.ts';

const define = electionCasesOf('identity');
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

async function rejectsWith(promise: Promise<unknown>, code: ErrorCode): Promise<void> {
  await assert.rejects(promise, (error) => isIncumbentError(error, code));
}

/** Writes raw bytes to a key of the election, and expects a campaign to fail because of them. */
function refuses(what: string, key: string, text: string, code: ErrorCode): StoreCase {
  return define(
    `${what} is refused with ${code}, and the candidate leaves no entry`,
    async (arena) => {
      await arena.operator.put(key, encode(text));
      const a = await arena.member('a');
      await rejectsWith(a.member.election(NAME).campaign(), code);
      await gone(arena, a.store);
      await arena.operator.deleteKey(key);
    },
    { needs: ['operator'] },
  );
}

async function gone(arena: Arena, store: Parameters<Arena['observer']>[0]): Promise<void> {
  await arena.until(async () => {
    const entries = await store.list(`elections/${NAME}/candidates`, { timeoutMs: arena.harness.timeoutMs });
    return entries.length === 0;
  }, 'no entry is left');
}

export const identityCases: readonly StoreCase[] = [
  define('a restarted process waits for its former self, and then leads with a new term', async (arena) => {
    const before = await arena.member('a');
    const first = await arena.campaign(before);
    const after = await arena.member('a');
    const next = arena.campaign(after);
    await arena.sleep(arena.ttlMs / 4);
    assert.equal(first.isValid(), true);
    await before.member.close();
    assert.equal((await next).term, arena.term(2n));
  }),

  define("'wait' gives up after twice the ttl", async (arena) => {
    await arena.campaign(await arena.member('a'));
    const from = arena.now();
    await rejectsWith((await arena.member('a')).member.election(NAME).campaign(), 'DUPLICATE_MEMBER');
    assert.ok(arena.now() - from >= 2 * arena.ttlMs);
  }),

  define("'refuse' fails at once", async (arena) => {
    const holder = await arena.member('a');
    const first = await arena.campaign(holder);
    await rejectsWith((await arena.member('a', { onDuplicate: 'refuse' })).member.election(NAME).campaign(), 'DUPLICATE_MEMBER');
    assert.equal(first.isValid(), true);
  }),

  define("'replace' makes the other process stop in order, and follows it; the replaced one does not come back", async (arena) => {
    const before = await arena.member('a');
    const first = await arena.campaign(before);
    const second = await arena.campaign(await arena.member('a', { onDuplicate: 'replace' }));
    assert.equal(second.term, arena.term(2n));
    assert.equal(first.isValid(), false);
    const end = await endOf(arena, first, arena.soonMs);
    assert.deepEqual([end.reason, end.lost], ['replaced', true]);
    await rejectsWith(before.member.election(NAME).campaign(), 'DUPLICATE_MEMBER');
  }),

  define(
    "'replace' of a process that is cut off follows when that one's lease has ended, and not before it has stopped considering itself leader",
    async (arena) => {
      const before = await arena.faultyMember('a');
      const first = await arena.campaign(before);
      const third = await arena.member('c');
      const next = arena.campaign(third);
      await arena.queued(third, 'c');
      await before.faults.cut();
      const again = await arena.member('a', { onDuplicate: 'replace' });
      const cancel = new AbortController();
      const asA = arena.campaign(again, undefined, cancel.signal);
      assert.equal((await next).term, arena.term(2n));
      assert.equal(first.isValid(), false);
      cancel.abort();
      await assert.rejects(asA);
      await before.faults.heal();
    },
    { faults: ['cut'] },
  ),

  define(
    'a later minor version of the format is understood, and what it added is kept',
    async (arena) => {
      const term = `elections/${NAME}/term`;
      const old = {
        v: 1,
        term: '41',
        memberId: 'z',
        incarnation: 'i',
        entry: `elections/${NAME}/candidates/z~i~1~fifo~~new`,
        novelty: [1],
      };
      await arena.operator.put(term, encode(JSON.stringify(old)));
      const a = await arena.member('a');
      const leadership = await arena.campaign(a);
      assert.equal(leadership.term, 42n);
      const kept = await a.store.read(term, { timeoutMs: arena.harness.timeoutMs });
      assert.ok(kept !== undefined);
      const record: unknown = JSON.parse(new TextDecoder().decode(kept.value));
      assert.ok(typeof record === 'object' && record !== null && 'novelty' in record);
      assert.deepEqual(record.novelty, [1]);
    },
    { needs: ['operator'] },
  ),

  define('candidates of another version, whose names have more parts, are waited for', async (arena) => {
    const [a, b] = [await arena.member('a'), await arena.member('b')];
    const first = await arena.campaign(a);
    const newer = { name: 'n~i~1~fifo~~more~still', value: '{"v":1,"novelty":true}', ttlMs: arena.calmTtlMs };
    const other = await enqueueForeign(arena, newer);
    let elected = false;
    const next = begun(
      arena.campaign(b).then((leadership) => {
        elected = true;
        return leadership;
      }),
    );
    await arena.queued(a, 'b');
    await first.resign();
    await arena.sleep(arena.ttlMs / 4);
    assert.equal(elected, false);
    await other.remove();
    assert.equal((await next).memberId, 'b');
    await other.revokeLease();
  }),

  refuses('a term that no Incumbent wrote', `elections/${NAME}/term`, 'something else', 'FOREIGN_DATA'),
  refuses('a term of a newer major version', `elections/${NAME}/term`, '{"v":2,"whatever":1}', 'NEWER_FORMAT'),
  refuses('a leader that no Incumbent wrote', `elections/${NAME}/leader`, '[]', 'FOREIGN_DATA'),
];
