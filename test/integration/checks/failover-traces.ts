/** How much of a vacancy the spans of its trace explain. */

import assert from 'node:assert/strict';
import { checkTrace, explained, type Fault, traceFailover } from '../traced-failover.ts';
import { onServer, type Check, type Figures } from './check.ts';
import { etcdHost } from './hosts.ts';
import { freshNamespace, storeUrl, TTL_MS } from './pair.ts';

/** The least part of a vacancy that the spans must explain. */
const LEAST = 0.95;
const STOP_MS = 200;
const FAULTS: readonly Fault[] = ['kill', 'handover', 'partition'];

export const failoverTraces: Check = {
  name: 'failover-traces',
  claim: 'The spans of a kill, a handover and a partition on etcd are in one trace each, and explain at least 95 % of the vacancy.',
  method:
    'Three processes on an etcd server: the leader, whose work takes 0.2 s to stop, and two candidates with observers. The leader is killed (SIGKILL), hands over, or is cut off. ' +
    'The spans of all processes are asserted by process, name, parent and attributes. vacancy: from the kill, or the abort of the work, to the first work of the next leader, in ms. ' +
    'explained: the percentage of it that lies within a span that says what a process waited for. inferred: the percentage that only the span of the expiring lease explains, ' +
    'whose start the next leader infers.',
  runs: 10,
  parallel: 1,
  open: onServer(
    () => etcdHost.start(),
    async (server, { isTimed }) => {
      const figures: Record<string, number> = {};
      for (const fault of FAULTS) {
        const namespace = freshNamespace();
        const setup = { server, storeUrl: (endpoint: string) => storeUrl([endpoint], namespace), ttlMs: TTL_MS, stopMs: STOP_MS };
        const failover = await traceFailover(fault, setup);
        checkTrace(fault, failover.spans);
        const part = explained(failover);
        Object.assign(
          figures,
          figuresOf(fault, failover.vacancy.endMs - failover.vacancy.startMs, part, explained(failover, ['incumbent.lease.expiry'])),
        );
        if (isTimed) assert.ok(part >= LEAST, `${fault}: the spans explain ${part} of the vacancy`);
      }
      return { figures };
    },
  ),
};

function figuresOf(fault: Fault, vacancyMs: number, part: number, withoutExpiry: number): Figures {
  return {
    [`${fault}Vacancy`]: vacancyMs,
    [`${fault}Explained`]: 100 * part,
    [`${fault}Inferred`]: 100 * (part - withoutExpiry),
  };
}
