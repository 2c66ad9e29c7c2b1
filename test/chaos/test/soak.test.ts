import { expect, it } from 'vitest';
import { requireStore } from '@incumbent/test-support';
import { soak } from '../soak/soak.ts';

it('churn leaves behind what it found', { timeout: 180_000 }, async ({ skip }) => {
  if (!(await requireStore({ store: 'etcd', own: true }))) skip();
  const figures = await soak({ elections: 100, members: 10, candidates: 3, processes: 2, minutes: 0.25 }, 7);
  expect(figures).toMatchObject({ keys: 510, keysAfter: 510, leases: 10, leasesAfter: 10 });
  expect(Math.min(...['resign', 'handover', 'abandon', 'restart'].map((deed) => figures[deed] ?? 0))).toBeGreaterThan(0);
});
