/** A process that queues, keeps its lease, and never claims: what an enqueue leaves that was applied after its caller gave up, or a process that hangs. */

import { isIncumbentError, type Clock } from '@incumbent/core';
import type { Program, ProgramContext } from '../programs/program.ts';
import type { SimServer } from '../store/server.ts';

/** What such a process is started in. */
export interface HungCandidateWorld {
  readonly server: SimServer;
  start(id: string, options: { readonly program?: Program; readonly takesOver?: boolean }): { stop(): void };
  /** Runs `repair` after so long, or when the storm is over. */
  repairAfter(durationMs: number, repair: () => void): void;
}

/** A queue that somebody stands in: of which election, and by which succession. */
interface Queue {
  readonly prefix: string;
  readonly succession: string;
}

/** Queues where others do; nobody waits where there is no queue. */
export function startHungCandidate(world: HungCandidateWorld, forMs: number): void {
  const queue = queueOf(world);
  if (queue === undefined) return;
  const actor = world.start('hung', { program: (self) => hungCandidate(self, queue) });
  world.repairAfter(forMs, () => actor.stop());
}

function queueOf({ server }: HungCandidateWorld): Queue | undefined {
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
  // Before all others, where rank counts.
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
