/** Errors of the HTTP API: a status, a code that stays the same, and a message. */

import { isIncumbentError, outcomeOf } from '@incumbent/core';

/** The API's own codes with their statuses. The other codes are the SDK's. */
export const API_ERRORS = {
  BAD_REQUEST: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  WRONG_SECRET: 403,
  NOT_FOUND: 404,
  NO_SUCH_CANDIDACY: 404,
  NO_SUCH_MEMBERSHIP: 404,
  METHOD_NOT_ALLOWED: 405,
  CANDIDACY_EXISTS: 409,
  MEMBERSHIP_EXISTS: 409,
  OTHER_TERM: 409,
  STILL_LEADS: 409,
  BODY_TOO_LARGE: 413,
  NOT_JSON: 415,
  TOO_MANY: 429,
  FAILED: 500,
} as const;

export type ApiErrorCode = keyof typeof API_ERRORS;

/** The statuses of the SDK's codes. A code that is not listed is the store's: 503. */
const SDK_STATUS: Readonly<Record<string, number>> = {
  INVALID_OPTION: 400,
  INVALID_NAME: 400,
  WEAK_STORE: 400,
  LEADERSHIP_ENDED: 409,
  NO_SUCH_CANDIDATE: 409,
  HANDOVER_FAILED: 409,
  TOO_LARGE: 413,
};

/** The JSON of an error. */
export interface ErrorDocument {
  readonly code: string;
  readonly message: string;
  /** Whether the store has applied the call. With `unknown`, it may have. */
  readonly outcome?: string;
}

/** An error that the client gets. */
export class ApiError extends Error {
  readonly code: ApiErrorCode;
  /** Headers that the answer needs besides. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ApiErrorCode, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.headers = headers;
  }
}

/** The status and the document for any thrown value. The SDK's messages contain no credentials. */
export function errorAnswer(error: unknown): { readonly status: number; readonly body: ErrorDocument } {
  if (error instanceof ApiError) return { status: API_ERRORS[error.code], body: { code: error.code, message: error.message } };
  if (!isIncumbentError(error))
    return { status: API_ERRORS.FAILED, body: { code: 'FAILED', message: 'the server has failed; its log says why' } };
  const { code, message } = error;
  const outcome = 'outcome' in error ? { outcome: outcomeOf(error) } : {};
  return { status: SDK_STATUS[code] ?? 503, body: { code, message, ...outcome } };
}
