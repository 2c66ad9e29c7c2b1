import { CALL, quantile, timesOf, type ProbeTarget } from './probe-target.ts';
import { ok, warning, type Finding } from './finding.ts';

const CALLS = 50;

/** Measures reads of a key that does not exist, and warns if they are slow for the ttl. */
export async function checkReads({ store, ttlMs, scratch, stopping }: ProbeTarget): Promise<readonly Finding[]> {
  return [compare('reads', await timesOf(CALLS, () => store.read(`${scratch}/timed`, CALL), stopping), ttlMs)];
}

/**
 * Measures writes of one key, and warns if they are slow for the ttl. The caller removes the key.
 */
export async function checkWrites({ store, ttlMs, scratch, stopping }: ProbeTarget): Promise<readonly Finding[]> {
  const key = `${scratch}/timed`;
  const put = new Uint8Array(100);
  const created = await store.compareAndSwap([{ key, expect: null, put }], CALL);
  let revision = created.swapped ? (created.revisions[0] ?? '') : '';
  const write = async (): Promise<void> => {
    const result = await store.compareAndSwap([{ key, expect: revision, put }], CALL);
    if (result.swapped) revision = result.revisions[0] ?? revision;
  };
  const writes = await timesOf(CALLS, write, stopping);
  return [compare('writes', writes, ttlMs)];
}

function compare(what: string, times: readonly number[], ttlMs: number): Finding {
  const [p50, p99] = [quantile(times, 0.5), quantile(times, 0.99)];
  const detail = `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, of ${times.length}`;
  const figures = { p50Ms: p50, p99Ms: p99, calls: times.length };
  // A call times out after a quarter of the ttl, on some stores after a sixth. One that takes a
  // twentieth on a quiet system may time out on a busy one.
  if (p99 <= ttlMs / 20) return ok(what, detail, figures);
  return warning(what, `${detail}: slow for a ttl of ${ttlMs / 1_000} s; renewals may come too late`, figures);
}
