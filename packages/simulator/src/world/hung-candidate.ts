/**
 * A client that has an entry in the queue, keeps its lease, and never claims. Such entries come
 * from an enqueue that was applied after its caller gave up, or from a process that hangs.
 */

import { isIncumbentError, type Clock } from '@incumbent/core';
import type { Program, ProgramContext } from '../programs/program.ts';
import type { SimServer } from '../store/server.ts';

/** What is needed to start such a client. */
export interface HungCandidateWorld {
  readonly server: SimServer;
  start(id: string, options: { readonly program?: Program; readonly takesOver?: boolean }): { stop(): void };
  /** Runs `repair` after this time, or when the storm is over. */
  repairAfter(durationMs: number, repair: () => void): void;
}

/** A queue with entries: the election and the succession. */
interface Queue {
  readonly prefix: string;
  readonly succession: string;
}

/** Enqueues an entry where other entries are. Does nothing if there is no queue. */
export function startHungCandidate(world: HungCandidateWorld, forMs: number): void {
  const queue = queueOf(world);
  if (queue === undefined) return;
  const actor = world.start('hung', { program: (self) => hungCandidate(self, queue) });
  world.repairAfter(forMs, () => actor.stop());
}

/** Whether any queue has an entry. */
export function hasQueue(world: Pick<HungCandidateWorld, 'server'>): boolean {
  return queueOf(world) !== undefined;
}

function queueOf({ server }: Pick<HungCandidateWorld, 'server'>): Queue | undefined {
  const [, prefix, name] =
    /^(elections\/[^/]+\/candidates)\/(.+)$/.exec(server.state.all().find(({ key }) => key.includes('/candidates/'))?.key ?? '') ?? [];
  const succession = name?.split('~')[3];
  return prefix === undefined || succession === undefined ? undefined : { prefix, succession };
}

async function hungCandidate(
  { store, clock, shape, memberId, stopping, random }: ProgramContext,
  { prefix, succession }: Queue,
): Promise<void> {
  const { ttlMs } = shape;
  const options = { timeoutMs: ttlMs / 4 };
  const at = (): { monotonicMs: number; wallMs: number } => ({ monotonicMs: clock.monotonic(), wallMs: clock.wall() });
  // Ahead of all others, where the rank counts.
  const name = [memberId, `hung${random.u32()}`, '1', succession, succession === 'priority' ? '1000' : 'ffffffff'].join('~');
  try {
    const { id } = await store.grantLease(ttlMs, { ...options, at: at() });
    await store.enqueue(prefix, name, new TextEncoder().encode('{"v":1}'), id, options);
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
