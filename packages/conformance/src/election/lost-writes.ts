/**
 * Every write of a member, once with its answer lost after it was applied, and once lost before it
 * arrived.
 */

import assert from 'node:assert/strict';
import type { StoreCase } from '../case.ts';
import type { StoreHarness } from '../harness.ts';
import { LOSSES, type Loss } from '../lost-write.ts';
import { times } from '../combinations.ts';
import { Arena, type TestMember } from './arena.ts';
import { ledBy, type Act } from './lost-acts.ts';
import { leaderActs } from './lost-leader-acts.ts';
import { memberActs } from './lost-member-acts.ts';
import { LossyStore } from './lossy-store.ts';

/**
 * Another write at the same moment may be lost instead. The case is then repeated, up to this many
 * times.
 */
const TRIES = 4;

/** How many terms were used, by any member. Another member determines the term before and after. */
async function spending(arena: Arena, keeper: TestMember, what: (base: bigint) => Promise<void>): Promise<bigint> {
  const base = await ledBy(arena, keeper);
  await what(base);
  return (await ledBy(arena, keeper)) - base - 1n;
}

/** Whether the selected write was the one that was lost. */
async function attempt(act: Act, loss: Loss, harness: StoreHarness): Promise<boolean> {
  const arena = new Arena(harness);
  let lossy: LossyStore | undefined;
  try {
    const client = await arena.openFaulty();
    lossy = new LossyStore(client, harness);
    // The ttl is long unless the case waits for the end of the lease: no lease must expire while a
    // case waits for an answer.
    const ttlMs = act.leaseEnds === true ? harness.ttlMs : Math.min(4 * harness.ttlMs, lossy.capabilities.maxTtlMs);
    const a = arena.memberOn(lossy, 'a', { ttlMs, ...act.options });
    const openMember = (memberId: string): Promise<TestMember> => arena.member(memberId, { ttlMs });
    const scene = { arena, a, loss, openMember, lose: lossy.lose.bind(lossy, loss), lost: lossy.lost };
    const spent = await spending(arena, await openMember('keeper'), (base) => act.run({ ...scene, base }));
    assert.equal(spent, BigInt(act.spends[loss]), 'terms spent');
  } catch (error) {
    await arena.close({ unfinished: true }).catch(() => {});
    if (lossy?.outcome === 'answered') return false;
    throw error;
  }
  await arena.close();
  if (lossy.outcome === 'answered') return false;
  const reported = loss === 'answer' ? ['unknown'] : ['unknown', 'notSent'];
  assert.ok(
    reported.includes(lossy.outcome ?? 'never made'),
    `the write is ${lossy.outcome ?? 'never made'}, not ${reported.join(' or ')}`,
  );
  return true;
}

function caseOf(act: Act, { loss, fault, how }: (typeof LOSSES)[number]): StoreCase {
  const terms = ['no term', 'one term', 'two terms'][act.spends[loss]] ?? '';
  return {
    area: 'unknown outcomes',
    name: `${act.what} ${how}: ${act.so}, ${terms} spent`,
    faults: [fault],
    needs: act.needs ?? [],
    run: async (harness) => {
      for (const _ of times(TRIES)) if (await attempt(act, loss, harness)) return;
      assert.fail(`${TRIES} times something else was lost`);
    },
  };
}

export const lostWriteCases: readonly StoreCase[] = [...memberActs, ...leaderActs].flatMap((act) => LOSSES.map((how) => caseOf(act, how)));
