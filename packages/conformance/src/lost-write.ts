/** The two ways to lose a write of which its caller can learn nothing. */

import type { FaultKind, Faults, StoreHarness } from './harness.ts';
import { sleep } from './time.ts';

/** `answer`: it is applied, and nobody is told. `request`: it never arrives. */
export type Loss = 'answer' | 'request';

/** With the fault that makes it, and what is said of a write that it happens to. */
export const LOSSES: readonly { readonly loss: Loss; readonly fault: FaultKind; readonly how: string }[] = [
  { loss: 'answer', fault: 'dropReply', how: 'whose answer is lost' },
  { loss: 'request', fault: 'dropRequests', how: 'that never arrives' },
];

/** From here on what is sent is lost, `answer` once. First what is on its way is let arrive, so that it is the next write that is lost. Ends by `heal`. */
export async function loseNext(loss: Loss, faults: Faults, { clock, ttlMs }: Pick<StoreHarness, 'clock' | 'ttlMs'>): Promise<void> {
  await sleep(clock, ttlMs / 10);
  if (loss === 'answer') await faults.dropNextReply();
  else await faults.dropRequests();
}
