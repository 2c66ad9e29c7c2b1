/**
 * The program of an operator. It reads the state of an election, and later sends one request to the
 * leader that it saw, as the CLI does.
 */

import { ElectionAdmin, isIncumbentError } from '@incumbent/core';
import type { FaultAction } from '../plan/fault.ts';
import type { ProgramContext } from './program.ts';

/** A request of an operator. */
export type OperatorRequest = Extract<FaultAction, { kind: 'requestStepDown' | 'requestHandover' }>;

export async function operatorProgram(self: ProgramContext, election: string, request: OperatorRequest): Promise<void> {
  const admin = new ElectionAdmin(self.store, election, { callTimeoutMs: self.shape.ttlMs / 4 });
  try {
    const { leader, candidates } = await admin.state();
    if (leader === undefined) return;
    await nap(self, request.delayMs);
    if (request.kind === 'requestStepDown') return await stepDown(self, admin, leader.term);
    const others = candidates.filter(({ leads }) => !leads);
    const chosen = others[request.nth % Math.max(others.length, 1)];
    if (chosen !== undefined) await handOver(self, admin, { term: leader.term, to: chosen.memberId, request });
  } catch (error) {
    if (!isIncumbentError(error)) throw error;
  }
}

async function stepDown(self: ProgramContext, admin: ElectionAdmin, term: bigint): Promise<void> {
  const about = { election: admin.name, term, request: 'stepDown' } as const;
  self.report({ type: 'requested', ...about });
  if (await admin.stepDown(term)) self.report({ type: 'requestWritten', ...about });
}

interface Wish {
  readonly term: bigint;
  readonly to: string;
  readonly request: Extract<OperatorRequest, { kind: 'requestHandover' }>;
}

async function handOver(self: ProgramContext, admin: ElectionAdmin, { term, to, request }: Wish): Promise<void> {
  const about = { election: admin.name, term, request: 'handover' } as const;
  self.report({ type: 'requested', ...about });
  if (await admin.requestHandover(term, to)) self.report({ type: 'requestWritten', ...about });
  if (request.withdrawnAfterMs === undefined) return;
  await nap(self, request.withdrawnAfterMs);
  await admin.withdrawHandover(term);
}

/** Resolves after this time, or when the operator is asked to stop. Leaves no timer behind. */
async function nap({ clock, stopping }: ProgramContext, ms: number): Promise<void> {
  if (stopping.aborted) return;
  const over = Promise.withResolvers<void>();
  const cancel = clock.schedule(ms, over.resolve);
  const wake = (): void => over.resolve();
  stopping.addEventListener('abort', wake, { once: true });
  await over.promise;
  stopping.removeEventListener('abort', wake);
  cancel();
}
