/** What a failed connection means for the call that wanted it. Each has its reason beside it. */

import type { Outcome, StoreErrorCode } from '@incumbent/core';

export type Verdict = readonly [code: StoreErrorCode, outcome: Outcome];

/** Either side does not trust the other's certificate: OpenSSL's names for it, and the alerts that a server sends. */
const DISTRUST = /CERT|UNKNOWN_CA|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|INVALID_(PURPOSE|CA)|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH/;

/** What answers speaks no TLS, or no version of it that this side speaks. */
const NO_TLS = /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL/;

/** No connection came about, so nothing was sent; `cause` is what the system or TLS says. Certificates do not get better by waiting, networks do. */
export function judgeSocket(cause: unknown): Verdict {
  if (isDistrust(cause)) return ['UNAUTHENTICATED', 'refused'];
  if (NO_TLS.test(errorCode(cause))) return ['UNSUPPORTED', 'refused'];
  return ['UNREACHABLE', 'notSent'];
}

/** Also what a client hears after its first request, if by TLS 1.3 its own certificate is not good enough. */
export function isDistrust(cause: unknown): boolean {
  return DISTRUST.test(errorCode(cause));
}

/** Node's code of an error; empty if it has none. */
export function errorCode(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : '';
}

/** What the system says of it; where several addresses were tried, the error of each stands in `errors`, and the message is empty. */
export function describeError(cause: unknown): string {
  if (cause instanceof AggregateError) return cause.errors.map((error: unknown) => describeError(error)).join('; ');
  return cause instanceof Error ? cause.message : String(cause);
}
