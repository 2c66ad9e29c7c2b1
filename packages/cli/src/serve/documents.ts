/**
 * The JSON documents of the HTTP API, as the code makes them. `serve.openapi.json` describes them
 * for users, and the tests validate every answer against it. Terms are strings in JSON.
 */

import type { LeadershipEndReason } from '@incumbent/core';

/** Why a candidacy is over. */
export type OverReason =
  /** The client has deleted it. */
  | 'withdrawn'
  /** No request with its secret has come within `renewWithinMs`. */
  | 'expired'
  /** Its event stream has closed, or was not opened in time. */
  | 'disconnected'
  /** The application of `--health` is unhealthy. */
  | 'unhealthy'
  /** The sidecar stops. */
  | 'closing'
  /** The campaign has failed, and a retry would fail again. */
  | 'failed';

/** What a client knows about its candidacy, at the time of the answer. */
export interface CandidacyDocument {
  readonly election: string;
  readonly candidacy: string;
  /** The member id of the sidecar: the leader's id in the store while the candidacy leads. */
  readonly member: string;
  readonly state: 'waiting' | 'leading' | 'suspect' | 'stopping' | 'over';
  readonly leads: boolean;
  /** The term that the candidacy leads in, or whose work it has not reported as stopped. */
  readonly term?: bigint;
  /**
   * How long the candidacy certainly leads, in ms. The client counts from before it sent the
   * request.
   */
  readonly validForMs: number;
  readonly renewWithinMs: number | null;
  /** The call that the sidecar waits for, before the candidacy can lead again. */
  readonly awaits?: 'acknowledge';
  readonly reason?: OverReason;
}

/** What a client knows about its membership of a group, at the time of the answer. */
export interface MembershipDocument {
  readonly group: string;
  /** The member id of the sidecar, by which the other members know the client. */
  readonly member: string;
  /**
   * Whether the sidecar has joined for this client, and the membership has not ended. After a lost
   * lease the sidecar joins again by itself, and this stays true, unless joining again fails for
   * good.
   */
  readonly joined: boolean;
  readonly renewWithinMs: number;
}

/** An event of a candidacy. */
export type CandidacyEvent =
  | { readonly event: 'waiting' }
  | { readonly event: 'elected' | 'suspect' | 'recovered'; readonly term: bigint }
  | { readonly event: 'ended'; readonly term: bigint; readonly reason: LeadershipEndReason; readonly lost: boolean }
  | { readonly event: 'drained'; readonly term: bigint; readonly acknowledged: boolean }
  | { readonly event: 'over'; readonly reason: OverReason; readonly message?: string };
