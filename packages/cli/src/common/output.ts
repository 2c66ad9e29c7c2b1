/**
 * What commands print with `--json`: one object per line. The field `type` distinguishes the
 * shapes. Terms are strings, and a field without a value is absent. The file `output.schema.json`
 * of this package describes the same shapes for users; a test validates the output of every
 * command.
 */

import type { CandidateView, ElectionState, ElectionView, LeaderView } from '@incumbent/core';

import { toCliError } from '../exit.ts';
import { toJson } from './json.ts';
import type { Printer } from './printer.ts';

/** One line of the output with `--json`. The field `type` distinguishes the shapes. */
export type OutputLine = ElectionLine | CandidateLine | GroupMemberLine | ResultLine | FindingLine | LimitLine | ErrorLine;

/** An election: of `leader` and `status`, and of `watch` for every change. */
export interface ElectionLine {
  readonly type: 'election';
  readonly election: string;
  /**
   * - `leader`: a member leads.
   * - `vacant`: nobody leads; `reason` says why.
   * - `unknown` (`watch` only): the store has not confirmed anything since `since`.
   * - `unreadable` (`status` only): `error` says why the election cannot be read.
   */
  readonly state: 'leader' | 'vacant' | 'unknown' | 'unreadable';
  /** The term of the leader; if nobody leads, the last term. Absent if there was none. */
  readonly term?: string | undefined;
  readonly leader?: MemberFields | undefined;
  /** How the term before the leader's ended. Absent if that is unknown. */
  readonly previous?: PreviousFields | undefined;
  readonly reason?: string | undefined;
  /**
   * True if the last leader's work has not stopped, or its lease has not ended: nobody can be
   * elected until then. Of `leader` and `status`, if nobody leads.
   */
  readonly stopping?: boolean | undefined;
  /** Only in the output of `status`. */
  readonly candidates?: readonly CandidateFields[] | undefined;
  readonly succession?: string | undefined;
  /** When `watch` printed the line. ISO 8601, as all times. */
  readonly at?: string | undefined;
  /** True in the first line of `watch`: what was before it, this watch has not seen. */
  readonly watchStarted?: true;
  readonly since?: string | undefined;
  readonly error?: ErrorFields | undefined;
}

/** A candidate, in the order in which the candidates would lead. The leader is the first. */
export interface CandidateLine extends CandidateFields {
  readonly type: 'candidate';
  readonly election: string;
  /** From 0. */
  readonly position: number;
  /** The id of the order of succession. */
  readonly succession?: string | undefined;
}

/** A member of a group, in the order in which the members joined. */
export interface GroupMemberLine extends MemberFields {
  readonly type: 'groupMember';
  readonly group: string;
}

/** What a command has done. */
export type ResultLine = TermEndLine | LoweredTermLine;

/** `resign` or `handover` has succeeded. */
export interface TermEndLine {
  readonly type: 'result';
  readonly command: 'resign' | 'handover';
  readonly election: string;
  /** The term that the command has ended. Absent if `handover` named the present leader. */
  readonly ended?: TermFields | undefined;
  /** Who leads now. Absent if nobody does. */
  readonly leader?: TermFields | undefined;
}

/** `lower-term-unsafely` has succeeded. */
export interface LoweredTermLine {
  readonly type: 'result';
  readonly command: 'lower-term-unsafely';
  readonly election: string;
  /** The last term before the command. */
  readonly from: string;
  /** The last term now. The next leader has the term after it. */
  readonly to: string;
}

/** The result of one check of `doctor`. */
export interface FindingLine {
  readonly type: 'finding';
  /**
   * `warning`: elections work, with the limit that `detail` states. `failure`: they do not work.
   */
  readonly level: 'ok' | 'warning' | 'failure';
  readonly what: string;
  readonly detail: string;
  /** Measured values and settings. */
  readonly figures?: Readonly<Record<string, number | string | undefined>> | undefined;
}

/** A limit of the SDK. Terms are strings; other numbers are in the unit. */
export interface LimitLine {
  readonly type: 'limit';
  readonly limit: string;
  readonly what: string;
  readonly min?: number | string | undefined;
  /** Absent if there is no upper limit. */
  readonly max?: number | string | undefined;
  readonly unit: string;
}

/** The command has failed. The last line of the output. */
export interface ErrorLine extends ErrorFields {
  readonly type: 'error';
  readonly exitCode: number;
  /** The meaning of the exit code. */
  readonly meaning: string;
}

/** An error, as lines of JSON show it. */
export interface ErrorFields {
  readonly code: string;
  /** A sentence for people. It may change in any version. */
  readonly message: string;
}

/** A member, as lines of JSON show it. */
export interface MemberFields {
  readonly memberId: string;
  /** Different for every start of the member's process. */
  readonly incarnation: string;
  /** The published value. Absent if there is none. */
  readonly value?: unknown;
}

/** A candidate, as lines of JSON show it. */
export interface CandidateFields extends MemberFields {
  readonly state: 'leads' | 'stopping' | 'waits';
  /** The rank by the order of succession. Absent if the order has no ranks. */
  readonly rank?: string | undefined;
}

/** How a term ended, and for how long nobody led after it, if `watch` saw that. */
interface PreviousFields extends TermFields {
  readonly reason: string;
  readonly vacantForMs?: number | undefined;
}

/** A term and the member that led in it. The term is a string of digits. */
export interface TermFields {
  readonly term: string;
  readonly memberId: string;
}

export function printJson(out: Printer, line: OutputLine): void {
  out.line(toJson(line));
}

/** An election as its admin reads it, without the candidates. */
export function electionLine({ name, leader, term, ended, stopping }: ElectionState): ElectionLine {
  if (leader !== undefined) return { type: 'election', election: name, state: 'leader', ...leaderFields(leader) };
  if (term === undefined) return { type: 'election', election: name, state: 'vacant', reason: 'neverLed', stopping };
  return { type: 'election', election: name, state: 'vacant', term: String(term), reason: ended ?? 'expired', stopping };
}

/** An election as an observer sees it. */
export function viewLine(election: string, view: ElectionView, at: string): ElectionLine {
  const { state } = view;
  switch (state) {
    case 'leader':
      return { type: 'election', at, election, state, ...leaderFields(view), reason: view.reason };
    case 'vacant':
      return { type: 'election', at, election, state, term: view.term === undefined ? undefined : String(view.term), reason: view.reason };
    case 'unknown': {
      const since = new Date(view.since).toISOString();
      return { type: 'election', at, election, state, since, error: view.cause === undefined ? undefined : errorFields(view.cause) };
    }
    default:
      return state satisfies never;
  }
}

function leaderFields(leader: Omit<LeaderView, 'state' | 'reason'>): Pick<ElectionLine, 'term' | 'leader' | 'previous'> {
  const { term, previous } = leader;
  return {
    term: String(term),
    leader: memberFields(leader),
    previous: previous === undefined ? undefined : { ...previous, term: String(previous.term) },
  };
}

/** The candidates of an election, in the order in which they would lead. */
export function candidatesOf({ candidates, stopping }: ElectionState): readonly CandidateFields[] {
  return candidates.map((candidate) => candidateFields(candidate, stopping));
}

function candidateFields({ leads, rank, ...member }: CandidateView, stopping: boolean): CandidateFields {
  const state = leads ? (stopping ? 'stopping' : 'leads') : 'waits';
  return { ...memberFields(member), state, rank: rank === '' ? undefined : rank };
}

function memberFields({ memberId, incarnation, value }: MemberFields): MemberFields {
  return { memberId, incarnation, value };
}

export function errorFields(error: unknown): ErrorFields {
  const { code, message } = toCliError(error);
  return { code, message };
}
