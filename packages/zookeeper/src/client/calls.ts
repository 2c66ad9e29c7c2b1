/** A transaction that changes nothing. */

import type { AttemptOptions } from '@incumbent/network';

import { multi } from '../protocol/multi.ts';
import { ANY_VERSION } from '../protocol/nodes.ts';
import type { Session } from './session.ts';

/**
 * Resolves when a quorum has agreed to it: then whoever leads the ensemble did lead it after this was sent. What comes of the check does not matter: a
 * transaction that fails is agreed to like any other.
 */
export async function barrier(session: Session, options: AttemptOptions): Promise<void> {
  await session.request(multi, [{ check: { path: '/', version: ANY_VERSION } }], options);
}
