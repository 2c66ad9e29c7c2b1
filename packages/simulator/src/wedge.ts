/** A process that queues, keeps its lease, and never claims: what an enqueue leaves that was applied after its caller gave up, or a process that hangs. */

import { isIncumbentError, type Clock } from '@incumbent/core';
import type { Self } from './program.ts';
import { ELECTION, successionOf } from './job.ts';
import type { World } from './world.ts';

export function wedge(world: World, forMs: number): void {
  const actor = world.start('wedge', { program: wedged });
  world.mendAfter(forMs, () => actor.stop());
}

async function wedged({ store, clock, shape, memberId, stopping, random }: Self): Promise<void> {
  const { ttlMs } = shape;
  const options = { timeoutMs: ttlMs / 4 };
  const at = (): { monotonicMs: number; wallMs: number } => ({ monotonicMs: clock.monotonic(), wallMs: clock.wall() });
  const succession = successionOf(shape.order, 0);
  // Before all others, where rank counts.
  const name = [memberId, `wedge${random.u32()}`, '1', succession.id, shape.order === 'priority' ? '1000' : 'ffffffff'].join('~');
  try {
    const { id } = await store.grantLease(ttlMs, { ...options, at: at() });
    await store.enqueue(`elections/${ELECTION}/candidates`, name, new TextEncoder().encode('{"v":1}'), id, options);
    while (!stopping.aborted) {
      await store.renewLease(id, { ...options, at: at() });
      await sleep(clock, ttlMs / 3);
    }
    await store.revokeLease(id, options);
  } catch (error) {
    if (!isIncumbentError(error)) throw error;
  }
}

function sleep(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.schedule(ms, resolve);
  });
}
