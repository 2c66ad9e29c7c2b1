import { describe, expect, it } from 'vitest';
import { randomOf } from '@incumbent/test-support/random';
import type { Check } from './checks/check.ts';

/** Claims with several kinds of runs need one of each. */
const RUNS: Readonly<Record<string, number>> = {
  'failover-requests': 2,
  'etcd-silent-watch': 2,
  'etcd-single-endpoint': 3,
  'zookeeper-failover-requests': 2,
  'consul-failover-requests': 2,
  'kubernetes-failover-requests': 2,
  'postgres-failover-requests': 2,
  'postgres-promotion': 3,
  'redis-failover-requests': 2,
  'redis-old-primary': 4,
  'redis-forged-messages': 2,
  // Each attack, and each of the stores.
  'hostile-servers': 7,
  'cluster-kill': 3,
  'consul-cluster-kill': 3,
  'zookeeper-cluster-kill': 3,
  'raft-leader-deposed': 2,
  'raft-one-way-cut': 4,
};
/** Claims that only measure, without a bound, run elsewhere. */
const SEED = 1;

export function verifyOnce(checks: readonly Check[]): void {
  describe('every claim of docs/verification, once', async () => {
    for (const check of checks) {
      it.runIf((await check.canRun?.()) ?? true)(`${check.name}: ${check.claim}`, { timeout: 180_000 }, async () => {
        await using opened = await check.open();
        for (let index = 0; index < (RUNS[check.name] ?? 1); index += 1) {
          const { figures } = await opened.run(index, { seed: SEED, random: randomOf(SEED + index), isTimed: false });
          expect(Object.values(figures).every(Number.isFinite)).toBe(true);
        }
      });
    }
  });
}
