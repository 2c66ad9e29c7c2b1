/** Swaps: one multi each. */

import type { Change, LeaseId, SwapResult } from '@incumbent/core';
import { StoreError } from '@incumbent/core/adapter';
import type { CallTime } from '@incumbent/network';

import type { Leases } from './leases.ts';
import { readRevision, revisionOf, writeRevision, type Namespace } from './namespace.ts';
import type { Parents } from './parents.ts';
import type { Acl } from './protocol/acl.ts';
import { Code } from './protocol/codes.ts';
import { answeredWith, isCode } from './connection/failure.ts';
import { multi, type MultiAnswer, type Part } from './protocol/multi.ts';
import { ANY_VERSION, getData, type Data } from './protocol/nodes.ts';
import type { Session } from './client/session.ts';

export interface SwapContext {
  /** For what is bound to no lease. */
  readonly shared: Session;
  readonly leases: Leases;
  readonly namespace: Namespace;
  readonly parents: Parents;
  readonly acls: readonly Acl[];
}

interface Step {
  readonly index: number;
  readonly part: Part;
}

/** A multi that has failed did nothing: it is sent again when what it stumbled over has been seen to, so often at most. */
const MAX_TRIES = 5;

export async function compareAndSwap(context: SwapContext, changes: readonly Change[], time: CallTime): Promise<SwapResult> {
  const lease = leaseOf(changes);
  const settling = lease === undefined ? undefined : context.leases.settle(lease, time.left);
  if (settling !== undefined) await settling;
  const steps = changes.flatMap((change, index) => partsOf(context, change).map((part) => ({ index, part })));
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const parts = steps.map(({ part }) => part);
    // Each time: its lease may be on its way out by now.
    const session = sessionFor(context, lease);
    const { answer } = await session.request(multi, parts, time.left);
    if (answer.done) return { swapped: true, revisions: changes.map((change, index) => revisionAfter(change, index, steps, answer)) };
    const step = steps[answer.failed];
    const change = changes[step?.index ?? -1];
    if (step === undefined || change === undefined) throw answeredWith(answer.code);
    const failed = await judge(context, session, { step, change, code: answer.code }, time);
    if (failed !== undefined) return { swapped: false, failed: [failed] };
  }
  throw new StoreError('UNAVAILABLE', 'refused', 'zookeeper: what a swap stands on is removed again and again');
}

/** What keys are bound to. */
export function leaseOf(changes: readonly Change[]): LeaseId | undefined {
  const bound = new Set(changes.flatMap((change) => ('put' in change ? leaseIn(change.lease) : [])));
  if (bound.size > 1) throw new StoreError('UNSUPPORTED', 'refused', 'zookeeper: one swap can bind keys to one lease only');
  return [...bound][0];
}

/** Only the session that a key is to live by can make it. */
function sessionFor({ shared, leases }: SwapContext, lease: LeaseId | undefined): Session {
  return lease === undefined ? shared : leases.session(lease);
}

function leaseIn(lease: LeaseId | 'keep' | null | undefined): readonly LeaseId[] {
  return lease === undefined || lease === null || lease === 'keep' ? [] : [lease];
}

/** What is known of a key that is absent. */
const NOTHING = { version: ANY_VERSION, lease: undefined } as const;

function partsOf({ namespace, acls }: SwapContext, change: Change): readonly Part[] {
  const path = namespace.path(change.key);
  const { version, lease: bound } = change.expect === null ? NOTHING : readRevision(change.expect);
  if ('delete' in change) return [{ delete: { path, version } }];
  if (!('put' in change)) {
    // There is no check for what is absent.
    if (change.expect === null) return [{ create: { path, data: undefined, acls, mode: 'persistent' } }, { delete: { path, version } }];
    return [{ check: { path, version } }];
  }
  const { put: data, lease = 'keep' } = change;
  const wanted = lease === 'keep' ? bound : (lease ?? undefined);
  if (change.expect !== null && wanted === bound) return [{ setData: { path, data, version } }];
  const create: Part = { create: { path, data, acls, mode: wanted === undefined ? 'persistent' : 'ephemeral' } };
  // What a node lives by it has for life.
  return change.expect === null ? [create] : [{ delete: { path, version } }, create];
}

function revisionAfter(
  change: Change,
  index: number,
  steps: readonly Step[],
  { parts }: Extract<MultiAnswer, { done: true }>,
): string | undefined {
  if (!('put' in change)) return undefined;
  const last = steps.findLastIndex((step) => step.index === index);
  const stat = parts[last]?.stat;
  // A server that does not say it has just made the node.
  return stat === undefined ? writeRevision(0, leaseIn(change.lease)[0]) : revisionOf(stat);
}

interface Stumble {
  readonly step: Step;
  readonly code: number;
  readonly change: Change;
}

type Failed = Extract<SwapResult, { swapped: false }>['failed'][number];

/** What did not hold; undefined where it may hold by now. Throws what is no matter of expectations. */
async function judge(
  { namespace, parents }: SwapContext,
  session: Session,
  { step, code, change }: Stumble,
  time: CallTime,
): Promise<Failed | undefined> {
  const path = namespace.path(change.key);
  if (code === Code.NONODE && 'create' in step.part) {
    await parents.make(path, time);
    return undefined;
  }
  if (code !== Code.NODEEXISTS && code !== Code.NONODE && code !== Code.BADVERSION) throw answeredWith(code);
  // The answer to this is no older than the answer before it.
  const data = await readNow(session, path, time);
  const current = data === undefined ? undefined : namespace.entry(path, data);
  // A node that others stand under.
  if (data !== undefined && current === undefined) throw answeredWith(code);
  return (current?.revision ?? null) === change.expect ? undefined : { index: step.index, current };
}

async function readNow(session: Session, path: string, time: CallTime): Promise<Data | undefined> {
  try {
    return (await session.request(getData, { path }, time.left)).answer;
  } catch (error) {
    if (isCode(error, 'NONODE')) return undefined;
    throw error;
  }
}
