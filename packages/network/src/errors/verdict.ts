/** Maps the errors of sockets and TLS to codes and outcomes. */

import type { Outcome, StoreErrorCode } from '@incumbent/core';

/** `why` explains the error in the message, after the words of the system or the server. */
export type Verdict = readonly [code: StoreErrorCode, outcome: Outcome, why?: string];

/** One side does not trust the other's certificate: OpenSSL's names, and the alerts of servers. */
const DISTRUST = /CERT|UNKNOWN_CA|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|INVALID_(PURPOSE|CA)|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH/;

/** OpenSSL's names for a certificate of an authority that this process does not know. */
const UNKNOWN_AUTHORITY = /^(DEPTH_ZERO_)?SELF_SIGNED_CERT|^UNABLE_TO_/;

/** The server does not speak TLS, or no version of it that this side speaks. */
const NO_TLS = /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL/;

/**
 * The verdict on a connection that could not be opened. Nothing was sent. `cause` is the error of
 * the system or of TLS. A retry may succeed after a network error, but not after a certificate
 * error.
 */
export function judgeSocket(cause: unknown): Verdict {
  if (UNKNOWN_AUTHORITY.test(errorCode(cause)))
    return [
      'UNAUTHENTICATED',
      'refused',
      'give the certificate of the authority that signed it: as the option tls.ca, or in the URL of a store as ?ca=file',
    ];
  if (isDistrust(cause)) return ['UNAUTHENTICATED', 'refused'];
  if (NO_TLS.test(errorCode(cause))) return ['UNSUPPORTED', 'refused'];
  return ['UNREACHABLE', 'notSent'];
}

/**
 * Whether one side rejected the other's certificate. In TLS 1.3 a client learns only after its
 * first request that the server rejected its certificate.
 */
export function isDistrust(cause: unknown): boolean {
  return DISTRUST.test(errorCode(cause));
}

/** Node's code of an error. Empty if it has none. */
export function errorCode(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : '';
}

/**
 * The message of an error. If Node tried several addresses, its error has an empty message, and
 * this joins the messages of `errors`.
 */
export function describeError(cause: unknown): string {
  if (cause instanceof AggregateError) return cause.errors.map((error: unknown) => describeError(error)).join('; ');
  return cause instanceof Error ? cause.message : String(cause);
}
