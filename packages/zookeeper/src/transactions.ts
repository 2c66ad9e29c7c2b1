/** compareAndSwap: one `multi` per attempt. */

import type { Change, LeaseId, SwapResult } from '@incumbent/core';
import { StoreError } from '@incumbent/core/adapter';
import type { CallTime } from '@incumbent/network';

import { type ParentNodes, readNode } from './client/calls.ts';
import type { ZooKeeperSession } from './client/session.ts';
import { answeredWith } from './errors.ts';
import type { Leases } from './leases.ts';
import { readRevision, revisionOf, writeRevision, type Namespace } from './namespace.ts';
import { Code } from './protocol/codes.ts';
import { multi, type MultiAnswer, type Part } from './protocol/multi.ts';
import { ANY_VERSION, type Acl } from './protocol/nodes.ts';

/** What the store's writes need. */
export interface WriteContext {
  /** For writes that bind no key to a lease. */
  readonly shared: ZooKeeperSession;
  readonly leases: Leases;
  readonly namespace: Namespace;
  readonly parents: ParentNodes;
  readonly acls: readonly Acl[];
}

/** A part of the request, and the index of the change that it belongs to. */
interface Step {
  readonly index: number;
  readonly part: Part;
}

/**
 * The most attempts. A `multi` that failed did nothing. It is sent again when the missing parents
 * have been created, or when an expectation that failed holds by now.
 */
const MAX_TRIES = 5;

export async function compareAndSwap(context: WriteContext, changes: readonly Change[], time: CallTime): Promise<SwapResult> {
  const lease = leaseOf(changes);
  const settling = lease === undefined ? undefined : context.leases.settle(lease, time.left);
  if (settling !== undefined) await settling;
  const steps = changes.flatMap((change, index) => partsOf(context, change).map((part) => ({ index, part })));
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const parts = steps.map(({ part }) => part);
    // Looked up for each attempt, because the lease may have ended meanwhile.
    const session = sessionFor(context, lease);
    const { answer } = await session.request(multi, parts, time.left);
    if (answer.done) return { swapped: true, revisions: changes.map((change, index) => revisionAfter(change, index, steps, answer)) };
    const step = steps[answer.failed];
    const change = changes[step?.index ?? -1];
    if (step === undefined || change === undefined) throw answeredWith(answer.code);
    if (answer.code === Code.NONODE && 'create' in step.part) {
      // A failed `multi` reports only its first missing parent, so the parts behind it are served
      // at once. Otherwise each new parent would cost an attempt.
      await context.parents.create(
        steps.slice(answer.failed).flatMap(({ part }) => ('create' in part ? [part.create.path] : [])),
        time,
      );
      continue;
    }
    const failed = await explain(context, session, { step, change, code: answer.code }, time);
    if (failed !== undefined) return { swapped: false, failed: [failed] };
  }
  throw new StoreError('UNAVAILABLE', 'refused', 'zookeeper: the parents or keys of a swap change again and again');
}

/** The lease that the changes bind keys to. Throws `UNSUPPORTED` for more than one. */
export function leaseOf(changes: readonly Change[]): LeaseId | undefined {
  const bound = new Set(changes.flatMap((change) => ('put' in change ? leaseIn(change.lease) : [])));
  if (bound.size > 1) throw new StoreError('UNSUPPORTED', 'refused', 'zookeeper: one swap can bind keys to one lease only');
  return [...bound][0];
}

/** An ephemeral node lives by the session that creates it, so only that session can create it. */
function sessionFor({ shared, leases }: WriteContext, lease: LeaseId | undefined): ZooKeeperSession {
  return lease === undefined ? shared : leases.session(lease);
}

function leaseIn(lease: LeaseId | 'keep' | null | undefined): readonly LeaseId[] {
  return lease === undefined || lease === null || lease === 'keep' ? [] : [lease];
}

/** The revision of an absent key. */
const NOTHING = { version: ANY_VERSION, lease: undefined } as const;

function partsOf({ namespace, acls }: WriteContext, change: Change): readonly Part[] {
  const path = namespace.path(change.key);
  const { version, lease: bound } = change.expect === null ? NOTHING : readRevision(change.expect);
  if ('delete' in change) return [{ delete: { path, version } }];
  if (!('put' in change)) {
    // ZooKeeper cannot check that a node is absent. Creating and deleting it does.
    if (change.expect === null) return [{ create: { path, data: undefined, acls, mode: 'persistent' } }, { delete: { path, version } }];
    return [{ check: { path, version } }];
  }
  const { put: data, lease = 'keep' } = change;
  const wanted = lease === 'keep' ? bound : (lease ?? undefined);
  if (change.expect !== null && wanted === bound) return [{ setData: { path, data, version } }];
  const create: Part = { create: { path, data, acls, mode: wanted === undefined ? 'persistent' : 'ephemeral' } };
  // The owner of a node cannot be changed, so the node is created again.
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
  // A server that sends no stat has just created the node.
  return stat === undefined ? writeRevision(0, leaseIn(change.lease)[0]) : revisionOf(stat);
}

interface FailedStep {
  readonly step: Step;
  readonly code: number;
  readonly change: Change;
}

type Failed = Extract<SwapResult, { swapped: false }>['failed'][number];

/**
 * The expectation that did not hold. Undefined if the request may succeed now. Throws if the
 * failure has nothing to do with expectations.
 */
async function explain(
  { namespace }: WriteContext,
  session: ZooKeeperSession,
  { step, code, change }: FailedStep,
  time: CallTime,
): Promise<Failed | undefined> {
  const path = namespace.path(change.key);
  if (code !== Code.NODEEXISTS && code !== Code.NONODE && code !== Code.BADVERSION) throw answeredWith(code);
  // On one session, this read is answered with a state no older than that of the failed request.
  const data = await readNode(session, path, time.left);
  const current = data === undefined ? undefined : namespace.entry(path, data);
  // The node is a parent of others, and not a key.
  if (data !== undefined && current === undefined) throw answeredWith(code);
  return (current?.revision ?? null) === change.expect ? undefined : { index: step.index, current };
}
