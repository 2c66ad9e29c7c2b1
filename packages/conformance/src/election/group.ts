/** Groups: who has joined, and who has left. */

import assert from 'node:assert/strict';
import { isIncumbentError, type GroupMember } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import type { Arena, TestMember } from './arena.ts';
import { electionCasesOf } from './define.ts';

const define = electionCasesOf('group');
const GROUP = 'brokers';

function ids(members: readonly GroupMember[] | undefined): string {
  return (members ?? []).map(({ memberId }) => memberId).join(' ');
}

/** Follows the latest view of the group that this member's subscription yields. */
function follow({ member }: TestMember): { latest: readonly GroupMember[] | undefined } {
  const seen: { latest: readonly GroupMember[] | undefined } = { latest: undefined };
  member.group(GROUP).subscribe((members) => {
    seen.latest = members;
  });
  return seen;
}

async function joined(arena: Arena, ...memberIds: readonly string[]): Promise<readonly TestMember[]> {
  const candidates: TestMember[] = [];
  for (const memberId of memberIds) {
    const candidate = await arena.member(memberId);
    await candidate.member.group(GROUP, { value: { host: memberId } }).join();
    candidates.push(candidate);
  }
  return candidates;
}

export const groupCases: readonly StoreCase[] = [
  define('members are seen in the order of joining, with what they show', async (arena) => {
    const [, , c] = await joined(arena, 'b', 'a', 'c');
    assert.ok(c !== undefined);
    const members = await c.member.group(GROUP).members();
    assert.equal(ids(members), 'b a c');
    assert.deepEqual(members[1]?.value, { host: 'a' });
  }),

  define('a member that publishes another value keeps its place, and an observer sees the value', async (arena) => {
    const observer = await arena.member('observer');
    const seen = follow(observer);
    const [b] = await joined(arena, 'b', 'a');
    assert.ok(b !== undefined);
    await arena.until(() => ids(seen.latest) === 'b a', 'both are seen');
    await b.member.group(GROUP).publish({ host: 'new' });
    assert.deepEqual((await observer.member.group(GROUP).members())[0]?.value, { host: 'new' });
    await arena.until(() => JSON.stringify(seen.latest?.[0]?.value) === '{"host":"new"}', 'the value is seen');
    assert.equal(ids(seen.latest), 'b a');
  }),

  define('an observer of a group sees joining and leaving, and never joins itself', async (arena) => {
    const observer = await arena.member('observer');
    const seen = follow(observer);
    const [a, b] = await joined(arena, 'a', 'b');
    assert.ok(a !== undefined && b !== undefined);
    await arena.until(() => ids(seen.latest) === 'a b', 'both are seen');
    await a.member.group(GROUP).leave();
    await arena.until(() => ids(seen.latest) === 'b', 'a has left');
    await a.member.group(GROUP).join();
    await arena.until(() => ids(seen.latest) === 'b a', 'a has joined again');
    await b.member.close();
    await arena.until(() => ids(seen.latest) === 'a', 'b was closed');
  }),

  define('joining twice is joining once; leaving twice is leaving once', async (arena) => {
    const [a] = await joined(arena, 'a');
    assert.ok(a !== undefined);
    const group = a.member.group(GROUP);
    await Promise.all([group.join(), group.join()]);
    assert.equal(ids(await group.members()), 'a');
    await Promise.all([group.leave(), group.leave()]);
    assert.equal(ids(await group.members()), '');
  }),

  define(
    'a member that is cut off is gone when its lease ends, and joins again when the link is back',
    async (arena) => {
      const observer = await arena.member('observer');
      const seen = follow(observer);
      const a = await arena.faultyMember('a');
      await a.member.group(GROUP).join();
      await arena.until(() => ids(seen.latest) === 'a', 'a is seen');
      await a.faults.cut();
      await arena.until(() => ids(seen.latest) === '', 'a is gone', arena.failoverMs(observer.store));
      await a.faults.heal();
      await arena.until(() => ids(seen.latest) === 'a', 'a is back', a.client.recoversWithinMs + arena.soonMs + arena.ttlMs);
    },
    { faults: ['cut'] },
  ),

  define(
    'a member whose key was deleted joins again by itself',
    async (arena) => {
      const observer = await arena.member('observer');
      const seen = follow(observer);
      await joined(arena, 'a', 'b');
      await arena.until(() => ids(seen.latest) === 'a b', 'both are seen');
      await arena.operator.deleteKey(`groups/${GROUP}/a`);
      await arena.until(() => ids(seen.latest) === 'b a', 'a has joined again');
    },
    { needs: ['operator'] },
  ),

  define('views yields who is in it now and after every change, and ends with the signal', async (arena) => {
    const observer = await arena.member('observer');
    const stop = new AbortController();
    const seen: string[] = [];
    const reading = (async () => {
      for await (const members of observer.member.group(GROUP).views({ signal: stop.signal })) seen.push(ids(members));
    })();
    await joined(arena, 'a');
    await arena.until(() => seen.at(-1) === 'a', 'a is seen');
    stop.abort();
    await reading;
    assert.equal(seen[0], '');
  }),

  define('a closed member joins no more', async (arena) => {
    const [a] = await joined(arena, 'a');
    assert.ok(a !== undefined);
    const group = a.member.group(GROUP);
    await a.member.close();
    await assert.rejects(group.join(), (error) => isIncumbentError(error, 'MEMBER_CLOSED'));
  }),
];
