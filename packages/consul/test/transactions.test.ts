import type { Change } from '@incumbent/core';
import { describe, expect, it } from 'vitest';

import { MAX_VALUE_BYTES } from '../src/transactions.ts';
import { ABSENT, openOnFakeAgent, opens, pairs } from './fake-agent.ts';

const CALL = { timeoutMs: 2_000 };
const [MINE, THEIRS] = ['11111111-2222-3333-4444-555555555555', '22222222-2222-3333-4444-555555555555'];
const put = new Uint8Array([120]);
const longest = new Uint8Array(MAX_VALUE_BYTES);

/** The operations that a change is sent as: their verbs and arguments, without the key. */
async function operationsOf(change: Change): Promise<readonly string[]> {
  await using on = await openOnFakeAgent();
  on.agent.respond = ({ path }) =>
    path === '/v1/txn' ? { body: { Results: [{ KV: { Key: 'app/a', CreateIndex: 1, ModifyIndex: 9 } }] } } : ABSENT;
  await on.store.compareAndSwap([change], CALL);
  const body = on.agent.requests.at(-1)?.body ?? '';
  const operations: readonly { KV: Readonly<Record<string, string | number | undefined>> }[] = JSON.parse(body);
  return operations.map(({ KV: { Verb, Index, Session, Flags } }) =>
    [Verb, Index, Session, Flags].filter((one) => one !== undefined).join(' '),
  );
}

describe('a change is', () => {
  it.each<[string, Change, readonly string[]]>([
    ['a check that a key is absent', { key: 'a', expect: null }, ['check-not-exists']],
    ['a check of a revision', { key: 'a', expect: `5@${MINE}` }, ['check-index 5']],
    ['a check of an invalid revision', { key: 'a', expect: 'x' }, ['check-index 1']],
    ['a deletion of an existing key', { key: 'a', expect: '5', delete: true }, ['check-index 5', 'delete']],
    ['a creation', { key: 'a', expect: null, put }, ['cas 0 0']],
    ['a creation for a lease', { key: 'a', expect: null, put, lease: MINE }, ['check-not-exists', `lock ${MINE} 0`]],
    ['a write that keeps the session, and always changes the index', { key: 'a', expect: `5@${MINE}`, put }, ['cas 5 5']],
    ['the same write, with the session named', { key: 'a', expect: `5@${MINE}`, put, lease: MINE }, ['cas 5 5']],
    ['the same write, without a session', { key: 'a', expect: '5', put, lease: null }, ['cas 5 5']],
    ['a binding', { key: 'a', expect: '5', put, lease: MINE }, ['check-index 5', `lock ${MINE} 5`]],
    ['a release', { key: 'a', expect: `5@${MINE}`, put, lease: null }, ['check-index 5', `unlock ${MINE} 5`]],
    [
      'a handover, in which the key is never absent',
      { key: 'a', expect: `5@${MINE}`, put, lease: THEIRS },
      ['check-index 5', `unlock ${MINE} 5`, `lock ${THEIRS} 5`],
    ],
  ])('%s', async (_, change, operations) => {
    expect(await operationsOf(change)).toEqual(operations);
  });
});

describe('a swap', () => {
  it('that only checks is a consistent read', async () => {
    await using on = await openOnFakeAgent();
    on.agent.respond = () => ({ body: { Results: [], Errors: null } });
    expect(await on.store.compareAndSwap([{ key: 'a', expect: null }], CALL)).toEqual({ swapped: true, revisions: [undefined] });
    expect(on.agent.requests.at(-1)?.query.has('consistent')).toBe(true);
  });

  it('has at most 21 changes, so that it never has more operations than servers accept', async () => {
    await using on = await openOnFakeAgent();
    const many = (count: number): readonly Change[] =>
      Array.from({ length: count }, (_, i) => ({ key: `k${i}`, expect: `5@${MINE}`, put, lease: THEIRS }));
    await expect(on.store.compareAndSwap(many(22), CALL)).rejects.toMatchObject({ code: 'TOO_LARGE', outcome: 'refused' });
    expect(on.agent.requests.some(({ path }) => path === '/v1/txn')).toBe(false);
    on.agent.respond = ({ path, body }) => {
      if (path !== '/v1/txn') return ABSENT;
      const operations: readonly unknown[] = JSON.parse(body);
      return { status: 413, body: `Transaction contains too many operations (${operations.length} > 64)` };
    };
    await expect(on.store.compareAndSwap(many(21), CALL)).rejects.toThrow('(63 > 64)');
  });

  it('that is longer than servers accept is not sent', async () => {
    await using on = await openOnFakeAgent();
    const large = ['a', 'b', 'c'].map((key) => ({ key, expect: null, put: longest }));
    await expect(on.store.compareAndSwap(large, CALL)).rejects.toMatchObject({ code: 'TOO_LARGE', outcome: 'refused' });
    expect(on.agent.requests.some(({ path }) => path === '/v1/txn')).toBe(false);
  });

  it('that is a handover between two values of maxValueBytes is sent', async () => {
    await using on = await openOnFakeAgent(opens, { namespace: 'n'.repeat(128) });
    on.agent.respond = ({ path }) => (path === '/v1/txn' ? { body: { Results: [] } } : ABSENT);
    const [election, name] = [`elections/${'e'.repeat(128)}`, 'm'.repeat(300)];
    const changes = [
      { key: `${election}/leader`, expect: `${Number.MAX_SAFE_INTEGER}@${MINE}`, put: longest, lease: THEIRS },
      { key: `${election}/term`, expect: '5', put: new Uint8Array(4_096) },
      { key: `${election}/candidates/b${name}`, expect: `5@${THEIRS}`, put: longest },
      { key: `${election}/candidates/a${name}`, expect: `5@${MINE}`, delete: true },
    ] as const;
    expect(await on.store.compareAndSwap(changes, CALL)).toMatchObject({ swapped: true });
  });

  it('that was refused although its expectations hold afterwards is sent again', async () => {
    await using on = await openOnFakeAgent();
    let tries = 0;
    on.agent.respond = ({ path }) => {
      if (path !== '/v1/txn') return ABSENT;
      if ((tries += 1) === 1)
        return { status: 409, body: { Results: null, Errors: [{ OpIndex: 0, What: 'failed to set key, index is stale' }] } };
      return { body: { Results: [{ KV: { Key: 'app/a', CreateIndex: 9, ModifyIndex: 9 } }], Errors: null } };
    };
    expect(await on.store.compareAndSwap([{ key: 'a', expect: null, put }], CALL)).toEqual({ swapped: true, revisions: ['9'] });
  });

  it('that was refused names a change whose expectation does not hold, and no other', async () => {
    await using on = await openOnFakeAgent();
    on.agent.respond = ({ path }) => {
      if (path === '/v1/kv/app/b') return pairs(8, ['app/b', 8]);
      if (path !== '/v1/txn') return ABSENT;
      const Errors = [
        { OpIndex: 0, What: 'key "app/a" exists' },
        { OpIndex: 1, What: 'index is stale' },
      ];
      return { status: 409, body: { Results: null, Errors } };
    };
    const changes = [
      { key: 'a', expect: null },
      { key: 'b', expect: '7' },
    ];
    const { failed } = { failed: [], ...(await on.store.compareAndSwap(changes, CALL)) };
    expect(failed).toMatchObject([{ index: 1, current: { key: 'b', revision: '8' } }]);
  });
});
