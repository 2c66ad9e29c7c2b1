/** An operator who changes a live leader's keys. */

import assert from 'node:assert/strict';
import { startEtcd, type EtcdServer } from '@incumbent/test-support';
import { now } from '../history.ts';
import { onServer, type Check } from './check.ts';
import { etcdHost, type Host } from './hosts.ts';
import { at, ELECTION, lastValid, onPair, Pair, WAIT_MS, termOf, TTL_MS } from './pair.ts';

/**
 * The longest time until a leader knows that its key was deleted, including the start of etcdctl.
 */
const KNOWS_WITHIN_MS = 100;

async function deleteLeader(pair: Pair): Promise<void> {
  await pair.host.deleteKey(pair.server, pair.key(`elections/${ELECTION}/leader`));
}

/** `b` stops, and `a` leads again. */
async function leadsAgain(pair: Pair, from: number): Promise<void> {
  await pair.queued('a');
  pair.b.sigterm();
  const again = await pair.a.waitFor((event) => event.event === 'elected' && termOf(event) > pair.term, { withinMs: WAIT_MS, from });
  assert.equal(termOf(again), pair.term + 2n);
}

export const operatorDelete = (host: Host): Check => ({
  name: `${host.prefix}operator-delete`,
  claim:
    "When an operator deletes the leader's key, it knows within 100 ms, nobody leads before its work has stopped, and leadership is taken up again.",
  method:
    `Two processes on one ${host.store}; ${host.deletes} of the leader's key. knows: from that tool's end to the abort of the leader's signal (below 0: before ` +
    'it); gap: from the end of its work to the next one being told that it leads. Then the second shuts down, and the first leads again in term 3.',
  runs: 20,
  parallel: 2,
  open: onPair(host, async (pair) => {
    await deleteLeader(pair);
    const deletedBy = now();
    const aborted = await pair.a.waitFor('aborted', { withinMs: WAIT_MS });
    const knowsMs = at(aborted) - deletedBy;
    assert.ok(knowsMs <= KNOWS_WITHIN_MS, `it took ${knowsMs} ms to know`);
    const stopped = await pair.a.waitFor('stopped', { withinMs: WAIT_MS });
    const elected = await pair.b.waitFor('elected', { withinMs: WAIT_MS });
    const gapMs = at(elected) - at(stopped);
    assert.ok(gapMs > 0, `the next one led ${-gapMs} ms before the work had stopped`);
    await leadsAgain(pair, pair.a.events.length);
    return { knowsMs, gapMs };
  }),
});

export const operatorDeleteCutOff = (host: Host): Check => ({
  name: `${host.prefix}operator-delete-cut-off`,
  claim:
    "When an operator deletes the key of a leader that is cut off, the next one leads after the lease's end, and after the leader no longer considers itself leader.",
  method: `As blackhole, ttl ${TTL_MS} ms, and ${host.deletes} of the leader's key right after the cut. Healed, the first leads again in term 3.`,
  runs: 20,
  parallel: 4,
  open: onPair(host, async (pair) => {
    pair.proxy.blackhole();
    await deleteLeader(pair);
    const deletedAt = now();
    const elected = await pair.b.waitFor('elected', { withinMs: WAIT_MS });
    const marginMs = at(elected) - lastValid(pair.a, pair.term);
    assert.ok(marginMs > 0, `two leaders for ${-marginMs} ms`);
    const from = pair.a.events.length;
    await pair.proxy.heal();
    await leadsAgain(pair, from);
    return { marginMs, failoverMs: at(elected) - deletedAt };
  }),
});

/** In hexadecimal, the format of etcdctl. */
async function leaseOf(etcd: EtcdServer, key: string): Promise<string> {
  const answer: unknown = JSON.parse(await etcd.ctl(['get', '-w', 'json', key]), (name, value: unknown, context?: { source?: string }) =>
    // An int64 does not fit into a JavaScript number.
    name === 'lease' ? BigInt(context?.source ?? String(value)).toString(16) : value,
  );
  assert.ok(typeof answer === 'object' && answer !== null && 'kvs' in answer && Array.isArray(answer.kvs));
  const [entry]: unknown[] = answer.kvs;
  assert.ok(typeof entry === 'object' && entry !== null && 'lease' in entry);
  return String(entry.lease);
}

export const operatorRevoke: Check = {
  name: 'operator-revoke',
  claim:
    "When an operator revokes a live leader's lease, two may consider themselves leader only until its watch fires: the overlap is measured, and terms still rise.",
  method:
    'Two processes on one etcd; `etcdctl lease revoke`. overlap: from the next one being told that it leads to the last isValid() of the first that was ' +
    'true; below 0: the first had stopped by then.',
  runs: 20,
  parallel: 2,
  open: onServer(
    () => startEtcd(),
    async (etcd) => {
      await using pair = await Pair.open(etcdHost, etcd);
      await etcd.ctl(['lease', 'revoke', await leaseOf(etcd, pair.key('members/a'))]);
      const elected = await pair.b.waitFor('elected', { withinMs: WAIT_MS });
      await pair.a.waitFor('ended', { withinMs: WAIT_MS });
      const overlapMs = lastValid(pair.a, pair.term) - at(elected);
      await pair.queued('a');
      await pair.finish({ overlapMs: 1_000 });
      return { figures: { overlapMs } };
    },
  ),
};
