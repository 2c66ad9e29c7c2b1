/** Members that come and go, over real sockets. */

import { expect, it } from 'vitest';
import { TcpCrowd } from './crowd.ts';

const PATIENCE_MS = 40_000;
const quick = { cluster: 'orders', heartbeatEveryMs: 250, failureTimeoutMs: 2_500, searchEveryMs: 500, joinAttempts: 60 };

it('30 members join, lose three, are split in three by cut connections, and are one again', { timeout: 180_000 }, async () => {
  await using crowd = new TcpCrowd({ ...quick, heartbeatsTo: 3 });
  const ids = Array.from({ length: 30 }, (_, i) => `m${String(i).padStart(2, '0')}`);
  for (const id of ids) await crowd.start(id, Number(id.slice(1)) < 2);
  const first = await crowd.agreed(crowd.of(...ids), PATIENCE_MS);
  expect(first).toBe('m00');
  for (const id of ['m05', 'm17', 'm29']) await crowd.kill(id);
  const rest = [...crowd.attendees.keys()];
  expect(await crowd.agreed(crowd.of(...rest), PATIENCE_MS)).toBe('m00');

  const sides = [0, 1, 2].map((part) => rest.filter((_, i) => i % 3 === part));
  crowd.relay.part(sides);
  const leaders = await Promise.all(sides.map((side) => crowd.agreed(crowd.of(...side), PATIENCE_MS)));
  // Best effort: each side has its own.
  expect(new Set(leaders).size).toBe(3);
  expect(sides.every((side, i) => side.includes(leaders[i]!))).toBe(true);

  crowd.relay.heal();
  const leader = await crowd.agreed(crowd.of(...rest), PATIENCE_MS);
  expect(leaders).toContain(leader);
  for (const other of leaders) if (other !== leader) expect(crowd.of(other)[0]!.ends).toContain('merged');
});
