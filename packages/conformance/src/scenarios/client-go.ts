/**
 * client-go's table of records: from which ones a candidate may take leadership, and from which
 * not.
 */

import assert from 'node:assert/strict';
import type { Store } from '@incumbent/core';
import { intercept } from '../intercept.ts';
import type { StoreCase } from '../case.ts';
import type { Arena } from '../election/arena.ts';
import { electionCasesOf } from '../election/define.ts';
import { begun } from '../time.ts';

const define = electionCasesOf('client-go');
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Leads an election by raw writes, as another process would, with a lease of its own. */
interface Other {
  readonly store: Store;
  readonly call: { readonly timeoutMs: number };
  readonly lease: string;
  readonly entry: string;
}

interface Row {
  readonly election: string;
  readonly what: string;
  /** The term in the record. Undefined if there is no record. */
  readonly issued: bigint | undefined;
  readonly ended: boolean;
  /** Which keys of the other process still exist. */
  readonly lives: 'nothing' | 'entry' | 'record and entry';
}

const rows: readonly Row[] = [
  { election: 'none', what: 'no record', issued: undefined, ended: false, lives: 'nothing' },
  { election: 'unled', what: 'a record whose leader has resigned', issued: 7n, ended: true, lives: 'nothing' },
  { election: 'expired', what: "a record whose leader's lease has expired", issued: 7n, ended: false, lives: 'nothing' },
  { election: 'unacked', what: 'a record whose leader has lost its key, and lives', issued: 7n, ended: false, lives: 'entry' },
  { election: 'acked', what: 'a record whose leader lives', issued: 7n, ended: false, lives: 'record and entry' },
];

async function other(arena: Arena, election: string): Promise<Other> {
  const store = await arena.open();
  const call = { timeoutMs: arena.harness.timeoutMs };
  const at = { monotonicMs: arena.now(), wallMs: arena.harness.clock.wall() };
  // The lease must outlive the case without renewals.
  const { id } = await store.grantLease(Math.min(60_000, store.capabilities.maxTtlMs), { ...call, at });
  const { key } = await store.enqueue(`elections/${election}/candidates`, 'z~0~1~fifo~', encode('{"v":1}'), id, call);
  return { store, call, lease: id, entry: key };
}

/** Creates the keys of the row. */
async function prepare({ store, call, lease, entry }: Other, { election, issued, ended, lives }: Row): Promise<void> {
  const holder = { v: 1, term: String(issued), memberId: 'z', incarnation: '0', entry };
  const term = { ...holder, ...(ended ? { ended: { reason: 'resigned' } } : {}) };
  if (issued !== undefined) {
    const put = encode(JSON.stringify(term));
    assert.equal((await store.compareAndSwap([{ key: `elections/${election}/term`, expect: null, put }], call)).swapped, true);
  }
  if (lives === 'record and entry') {
    const put = encode(JSON.stringify(holder));
    assert.equal((await store.compareAndSwap([{ key: `elections/${election}/leader`, expect: null, put, lease }], call)).swapped, true);
  }
  if (lives === 'nothing') await store.revokeLease(lease, call);
}

/**
 * A leader that nobody waits behind looks for a successor after 1 s, and then 2, 4, 8 s later and
 * so on.
 */
const MOST_LOOKS = 6;

export const clientGoCases: readonly StoreCase[] = [
  ...rows.map((row) =>
    define(
      `C09 ${row.what}: ${row.lives === 'nothing' ? 'taken' : 'not taken while it lives'} (client-go TestTryAcquireOrRenew)`,
      async (arena) => {
        const { election } = row;
        const z = await other(arena, election);
        await prepare(z, row);
        const a = await arena.member('a', { ttlMs: arena.ttlMs });
        let elected = false;
        const campaigning = begun(
          a.member
            .election(election)
            .campaign()
            .then((leadership) => {
              arena.record(leadership, election);
              elected = true;
              return leadership;
            }),
        );
        if (row.lives !== 'nothing') {
          // The term of a live holder ends only when the holder ends it, even after the claim
          // timeout.
          await arena.sleep(2 * arena.ttlMs);
          assert.equal(elected, false);
          await z.store.revokeLease(z.lease, z.call);
        }
        const { term } = await campaigning;
        assert.equal(term, row.issued === undefined ? arena.term(1n) : row.issued + 1n);
      },
    ),
  ),

  define(
    'C09 a renewed leadership keeps its term, and so does one whose value changes (client-go TestTryAcquireOrRenew)',
    async (arena) => {
      const a = await arena.member('a');
      const leadership = await arena.campaign(a, { value: 'one' });
      await arena.sleep(1.2 * arena.calmTtlMs);
      await leadership.publish('two');
      assert.equal(leadership.isValid(), true);
      const seen = await arena.observer(await arena.open()).leader();
      assert.deepEqual([seen?.term, seen?.value, seen?.memberId], [arena.term(1n), 'two', 'a']);
    },
    { calm: true },
  ),

  define(
    'C11 an election without a rival takes six calls, four where there is a session, and then renewals, and looks for a successor (client-go TestFastPathLeaderElection)',
    async (arena) => {
      let calls: string[] = [];
      let renewals = 0;
      const store = intercept(await arena.open(), ({ operation }, go) => {
        if (operation === 'renewLease') renewals += 1;
        else calls.push(operation);
        return go();
      });
      const a = arena.memberOn(store, 'a');
      const first = await arena.campaign(a);
      assert.deepEqual(calls, ['grantLease', 'compareAndSwap', 'enqueue', 'list', 'read', 'compareAndSwap']);
      [calls, renewals] = [[], 0];
      await arena.until(() => renewals >= 2, 'renewals', arena.calmTtlMs);
      assert.deepEqual(
        [...new Set(calls)].filter((operation) => operation !== 'list'),
        [],
      );
      assert.ok(calls.length <= MOST_LOOKS, `${calls.length} looks`);
      await first.resign();
      calls = [];
      await arena.campaign(a);
      assert.deepEqual(calls, ['enqueue', 'list', 'read', 'compareAndSwap']);
    },
    { calm: true },
  ),
];
