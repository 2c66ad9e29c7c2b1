import { quantile, timesOf, CALL, type Patient } from './patient.ts';
import { ok, warning, type Finding } from './finding.ts';

const CALLS = 50;

/** Times of reads and of writes, against what a call may take at this ttl. */
export async function roundTrips({ store, ttlMs, scratch }: Patient): Promise<readonly Finding[]> {
  const key = `${scratch}/timed`;
  const put = new Uint8Array(100);
  const created = await store.compareAndSwap([{ key, expect: null, put }], CALL);
  let revision = created.swapped ? (created.revisions[0] ?? '') : '';
  const reads = await timesOf(CALLS, () => store.read(key, CALL));
  const writes = await timesOf(CALLS, async () => {
    const result = await store.compareAndSwap([{ key, expect: revision, put }], CALL);
    if (result.swapped) revision = result.revisions[0] ?? revision;
  });
  await store.compareAndSwap([{ key, expect: revision, delete: true }], CALL);
  return [judge('reads', reads, ttlMs), judge('writes', writes, ttlMs)];
}

function judge(what: string, times: readonly number[], ttlMs: number): Finding {
  const [p50, p99] = [quantile(times, 0.5), quantile(times, 0.99)];
  const detail = `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, of ${times.length}`;
  const figures = { p50Ms: p50, p99Ms: p99, calls: times.length };
  // A call may take a quarter of the ttl, a sixth on some stores: one that takes a twentieth in quiet times has not much in hand.
  if (p99 <= ttlMs / 20) return ok(what, detail, figures);
  return warning(what, `${detail}: slow for a ttl of ${ttlMs / 1_000} s, renewals may come too late`, figures);
}
