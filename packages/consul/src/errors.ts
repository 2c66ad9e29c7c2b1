/**
 * Maps the failures of an exchange to codes and outcomes, each with its reason. No other file does
 * this. The outcome is `refused` or `notSent` only if that is certain, and `unknown` otherwise.
 */

import type { StoreErrorCode } from '@incumbent/core';
import { StoreError } from '@incumbent/core/adapter';
import { judgeHttp, type MissingPermission, storeErrorOf, type Verdict, verdictsOf } from '@incumbent/network';

import { ExchangeError } from './client/failure.ts';
import type { Namespace } from './namespace.ts';
import { SERVICE } from './protocol/service.ts';

const verdictOn = verdictsOf(ExchangeError, judge);

/** Converts whatever a call has thrown to a store error. `what` names the call in the message. */
export function toStoreError(error: unknown, what: string): StoreError {
  return storeErrorOf(error, `consul ${what}`, verdictOn);
}

/** What the token lacks for a call on these keys, in the words of Consul's rules. */
export function missingOnKeys(right: 'key:read' | 'key:write', paths: readonly string[], { root }: Namespace): MissingPermission {
  return { right, keys: paths, grant: `the rule key_prefix "${root}" { policy = "write" } in a policy of the token` };
}

/** What the token lacks for sessions. */
export const missingForSessions: MissingPermission = {
  right: 'session:write',
  keys: [],
  grant: 'the rule session_prefix "" { policy = "write" } in a policy of the token',
};

/** What the token lacks to read the agent's version, which elections do not need. */
export const missingForAgent: MissingPermission = {
  right: 'agent:read',
  keys: [],
  grant: 'the rule agent_prefix "" { policy = "read" } in a policy of the token',
};

/** What the token lacks to bind sessions to checks. */
export const missingForServices: MissingPermission = {
  right: 'service:write',
  keys: [],
  grant: `the rule service "${SERVICE}" { policy = "write" } in a policy of the token (or open the store with session: "ttl")`,
};

function judge({ failure, cause }: ExchangeError): Verdict {
  return failure.kind === 'status' ? judgeStatus(failure.status, failure.text) : judgeHttp(failure, cause);
}

function judgeStatus(status: number, text: string): Verdict {
  // The agent checks the token before it serves the request. The status differs between versions.
  if (/ACL not found|token does not exist/i.test(text))
    return ['UNAUTHENTICATED', 'refused', 'the token is wrong, has expired or was deleted'];
  if (/Permission denied/i.test(text)) return ['PERMISSION_DENIED', 'refused'];
  if (status === 403) return ['PERMISSION_DENIED', 'refused'];
  if (status === 413) return ['TOO_LARGE', 'refused'];
  // The agent limits connections and requests before it looks at a request.
  if (status === 429) return ['UNAVAILABLE', 'notSent'];
  if (status >= 500) return judgeFailure(text);
  // No agent responds like this. A proxy that does may have passed the request on.
  if (status < 300 || status === 408 || status === 499) return ['STORE_FAILED', 'unknown'];
  // Agents respond like this in other cases only. The server is not Consul, or expects TLS.
  return ['UNSUPPORTED', 'refused'];
}

function judgeFailure(text: string): Verdict {
  // The agent checks the key of a read before it passes the read on.
  if (/invalid key name|invalid traversal/i.test(text)) return ['UNSUPPORTED', 'refused', 'this version of Consul refuses the key'];
  // The session is looked up in the step that would bind a key to it.
  if (/invalid session/i.test(text)) return ['LEASE_EXPIRED', 'refused'];
  // The servers check the node and its checks before they create a session.
  if (/Missing check |Missing node registration|is in critical state/.test(text)) return ['UNAVAILABLE', 'refused'];
  if (/Invalid Session TTL/.test(text)) return ['STORE_FAILED', 'refused'];
  // The servers have no leader, their leader lost the leadership, or the agent has no servers. A
  // request that the agent has passed on may still be applied.
  return ['UNAVAILABLE', 'unknown'];
}

/**
 * The error of a later step of a call. The steps before it may have been applied, so the outcome is
 * `unknown`.
 */
export function afterWriting(error: unknown, what: string): unknown {
  if (!(error instanceof ExchangeError)) return error;
  const { code, message } = toStoreError(error, what);
  return new StoreError(error.failure.kind === 'timeout' ? 'TIMEOUT' : code, 'unknown', message, { cause: error });
}

/** Whether the failed request may be applied, now or later. */
export function mayBeApplied(error: unknown): boolean {
  return !(error instanceof ExchangeError) || judge(error)[1] === 'unknown';
}

/**
 * Whether the servers do not know a check yet that was just registered with the agent. The agent
 * reports the check to the servers by itself.
 */
export function isCheckUnknown(error: unknown): boolean {
  return error instanceof ExchangeError && error.failure.kind === 'status' && /Missing check /.test(error.failure.text);
}

/** Whether the servers do not know the agent's node. */
export function isNodeUnknown(error: unknown): error is ExchangeError {
  return error instanceof ExchangeError && error.failure.kind === 'status' && /Missing node registration/.test(error.failure.text);
}

/**
 * The servers of this datacenter do not know the agent's node. `own` is the agent's datacenter;
 * undefined if it is not known. The servers may then be those of the agent, and learn of the node.
 */
export function otherDatacenter(datacenter: string, own: string | undefined, cause: ExchangeError): StoreError {
  const why = `the servers of the datacenter "${datacenter}" do not know the agent's node: ${cause.message}`;
  const hint = `the datacenter must be the agent's own, because the agent creates the sessions`;
  if (own === undefined) return new StoreError('UNAVAILABLE', 'refused', `consul grantLease: ${why}; ${hint}`, { cause });
  return new StoreError('UNSUPPORTED', 'refused', `consul grantLease: ${why}; ${hint}: "${own}"`, { cause });
}

/**
 * Throws if an operation of a transaction was refused for another reason than the state of its key.
 */
export function checkOperationErrors(errors: readonly { readonly what: string }[]): void {
  for (const { what } of errors) {
    const error = operationRefused(what);
    if (error !== undefined) throw error;
  }
}

function operationRefused(what: string): StoreError | undefined {
  const [session, lease] = /invalid session(?: "([0-9a-f-]{36})")?/i.exec(what) ?? [];
  if (session !== undefined)
    return new StoreError('LEASE_EXPIRED', 'refused', `consul: ${what}: it has expired, or was ended`, { details: { lease } });
  if (/Permission denied/i.test(what)) return refused('PERMISSION_DENIED', what);
  if (/lock delay/i.test(what)) return refused('UNAVAILABLE', what);
  return undefined;
}

/**
 * The error of an opening whose first read failed. The read changed nothing, so its outcome is
 * known.
 */
export function openingFailed(error: unknown): unknown {
  if (!(error instanceof ExchangeError)) return error;
  if (error.failure.kind === 'malformed')
    return new StoreError('UNSUPPORTED', 'refused', `consul open: the server is not Consul: ${error.message}`, { cause: error });
  if (error.failure.kind !== 'cut' || judge(error)[0] !== 'CONNECTION_LOST') return error;
  const why = 'the connection was closed without a response, as by a server that is not Consul';
  return new StoreError('UNREACHABLE', 'notSent', `consul open: ${why}: ${error.message}`, { cause: error });
}

export function refused(code: StoreErrorCode, message: string): StoreError {
  return new StoreError(code, 'refused', `consul: ${message}`);
}

export function sessionRemains(id: string): StoreError {
  return new StoreError('UNAVAILABLE', 'unknown', `consul: the session ${id} still exists after its end was requested`);
}

/** The response to a watch may be out of date. */
export function noLeader(): StoreError {
  return new StoreError('UNAVAILABLE', 'unknown', 'consul watch: the servers have no leader');
}
