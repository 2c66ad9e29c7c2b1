/** The two ways to lose a write, after which its caller does not know the outcome. */

import type { FaultKind, Faults, StoreHarness } from './harness.ts';
import { sleep } from './time.ts';

/** `answer`: the write is applied, and the answer is lost. `request`: the write never arrives. */
export type Loss = 'answer' | 'request';

/** Each loss with the fault that causes it, and a description of a write that suffers it. */
export const LOSSES: readonly { readonly loss: Loss; readonly fault: FaultKind; readonly how: string }[] = [
  { loss: 'answer', fault: 'dropReply', how: 'whose answer is lost' },
  { loss: 'request', fault: 'dropRequests', how: 'that never arrives' },
];

/**
 * Loses what is sent from now on; `answer` loses one answer. First waits for calls on their way, so
 * that the next write is the one that is lost. `heal` ends the loss.
 */
export async function loseNext(loss: Loss, faults: Faults, { clock, ttlMs }: Pick<StoreHarness, 'clock' | 'ttlMs'>): Promise<void> {
  await sleep(clock, ttlMs / 10);
  if (loss === 'answer') await faults.dropNextReply();
  else await faults.dropRequests();
}
