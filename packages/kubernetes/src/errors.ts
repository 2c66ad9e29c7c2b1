/**
 * Maps the failures of an exchange to codes and outcomes, each with its reason. No other file does
 * this. The outcome is `refused` or `notSent` only if that is certain, and `unknown` otherwise.
 */

import type { LeaseId } from '@incumbent/core';
import { StoreError } from '@incumbent/core/adapter';
import { judgeHttp, type MissingPermission, storeErrorOf, UNFORESEEN, type Verdict } from '@incumbent/network';

import { ExchangeError, type Failure, type Right } from './client/failure.ts';

/** Converts whatever a call has thrown to a store error. `what` names the call in the message. */
export function toStoreError(error: unknown, what: string): StoreError {
  return storeErrorOf(error, `kubernetes ${what}`, (thrown) => (thrown instanceof ExchangeError ? judge(thrown) : UNFORESEEN));
}

/** What the user lacks for the request that the API server has denied, in the words of a Role. */
export function deniedRight(error: unknown): MissingPermission {
  const right = neededBy(error);
  if (right === undefined) return { right: 'a right', keys: [], grant: 'the Role in the README of @incumbent/kubernetes' };
  return { right: `${right.verb} ${right.resource}`, keys: [], grant: grantOf(right) };
}

/** The rule that grants a right. */
export function grantOf({ verb, group, resource, namespace }: Right): string {
  if (namespace === undefined) return `a ClusterRole with nonResourceURLs: ["${resource}"], verbs: ["${verb}"]`;
  return `a Role in the namespace ${namespace} with apiGroups: ["${group}"], resources: ["${resource}"], verbs: ["${verb}"]`;
}

/** The right that the denied request needs. One call makes several requests, each with its own. */
function neededBy(error: unknown): Right | undefined {
  for (let one = error; one instanceof Error; one = one.cause) {
    if (one instanceof ExchangeError && one.failure.kind === 'status') return one.failure.needs;
  }
  return undefined;
}

function judge({ failure, message, cause }: ExchangeError): Verdict {
  return failure.kind === 'status' ? judgeStatus(failure, message) : judgeHttp(failure, cause);
}

type StatusFailure = Extract<Failure, { readonly kind: 'status' }>;

/** `reason` is the API's own. Empty if a gateway answers, or a server that is still starting. */
function judgeStatus({ status, reason, needs, hadRight = false }: StatusFailure, message: string): Verdict {
  if (status === 401) return ['UNAUTHENTICATED', 'refused', 'the token or the certificate is wrong or has expired'];
  // A server that has just started may not know all Roles yet.
  if (status === 403 && hadRight) return ['UNAVAILABLE', 'refused', 'the server granted this right before'];
  if (status === 403) return ['PERMISSION_DENIED', 'refused'];
  if (status === 413) return ['TOO_LARGE', 'refused'];
  // The server is overloaded or still starting, and has not looked at the request.
  if (status === 429) return ['UNAVAILABLE', 'notSent'];
  // Text in place of an object: the server does not serve the resource yet, or is no API server.
  if (status === 404 && reason === '') return ['UNAVAILABLE', 'notSent', 'the server does not serve this resource, or not yet'];
  // What is created does not exist anyway, so the namespace or the resource is absent.
  if (status === 404 && needs?.verb === 'create') return ['UNSUPPORTED', 'refused', absentPlace(needs, message)];
  // The server has given up on etcd, which may still apply the write.
  if (status === 504) return ['TIMEOUT', 'unknown'];
  if (status >= 500) return ['UNAVAILABLE', 'unknown'];
  // A gateway may have passed the request on.
  if (reason === '') return ['STORE_FAILED', 'unknown'];
  return ['STORE_FAILED', 'refused'];
}

/** `message`: the API server's, which names a namespace that it does not have. */
function absentPlace({ group, resource, namespace }: Right, message: string): string {
  if (namespace !== undefined && /\bnamespaces? "/.test(message)) return `the namespace ${namespace} does not exist`;
  return `the server has no resource ${group === '' ? resource : `${resource}.${group}`}`;
}

/** Whether the server may have applied a request that was sent, or may still do so. */
export function mayBeApplied(error: unknown): boolean {
  return !(error instanceof ExchangeError) || judge(error)[1] === 'unknown';
}

/** Whether the user lacks a right (403). */
export function isNotPermitted(error: unknown): boolean {
  return error instanceof ExchangeError && error.failure.kind === 'status' && error.failure.status === 403;
}

/** Whether the server does not have what the path names (404). */
export function isNotServed(error: unknown): boolean {
  return error instanceof ExchangeError && error.failure.kind === 'status' && error.failure.status === 404;
}

/** Whether one of several changes may be to blame for the refusal of a request with all of them. */
export function isOfOneChange(error: unknown): boolean {
  const { code, outcome } = toStoreError(error, 'change');
  return outcome === 'refused' && (code === 'TOO_LARGE' || code === 'STORE_FAILED');
}

/** Whether a watch must begin anew because its resourceVersion is too old (410). */
export function isExpiredVersion(error: unknown): boolean {
  return error instanceof ExchangeError && error.failure.kind === 'status' && error.failure.status === 410;
}

/** A watch that did not end when the server had to end it. */
export function watchSilent(afterMs: number): StoreError {
  return new StoreError('UNAVAILABLE', 'unknown', `kubernetes watch: the server did not end the watch after ${afterMs} ms`);
}

/** The error of watches that cannot tell which state of the object is the latest one. */
export function replacedOften(): StoreError {
  return new StoreError('UNAVAILABLE', 'unknown', 'kubernetes watch: the object with the keys is replaced again and again');
}

/** The error of a first read. It changed nothing, so its outcome is known. */
export function openingFailed(error: unknown): unknown {
  if (!(error instanceof ExchangeError)) return error;
  const { failure, message } = error;
  const isOther = failure.kind === 'malformed' || (failure.kind === 'status' && failure.reason === '' && failure.status < 400);
  if (isOther)
    return new StoreError('UNSUPPORTED', 'refused', `kubernetes open: the server is no Kubernetes API server: ${message}`, {
      cause: error,
    });
  return error;
}

/**
 * The error of a later step of a call. The steps before it may have been applied, so the outcome is
 * `unknown`.
 */
export function afterWriting(error: unknown, what: string): unknown {
  if (error instanceof StoreError) return new StoreError(error.code, 'unknown', error.message, { cause: error });
  if (!(error instanceof ExchangeError)) return error;
  const { code, message } = toStoreError(error, what);
  return new StoreError(error.failure.kind === 'timeout' ? 'TIMEOUT' : code, 'unknown', message, { cause: error });
}

/** The store has an earlier state than it had before: a backup of etcd was restored. */
export function wentBack(from: number, to: number): StoreError {
  const why = `its keys were at change ${from}, and are at change ${to}`;
  return new StoreError(
    'CORRUPT',
    'refused',
    `kubernetes: the API server has an earlier state than before, as after a restored backup: ${why}`,
  );
}

/** A lease that ended after keys were bound to it, and before the call had ended. */
export function endedMeanwhile(lease: LeaseId): StoreError {
  return new StoreError('LEASE_EXPIRED', 'unknown', `kubernetes: the lease ${lease} ended while keys were bound to it; they are deleted`);
}
