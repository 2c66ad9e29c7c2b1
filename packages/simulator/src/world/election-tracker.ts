/** Translates changes in the store to events of elections. */

import type { Key, LeaseId } from '@incumbent/core';
import type { WorldEvent } from './event.ts';
import type { Trigger } from '../plan/fault.ts';
import type { ServerListener } from '../store/server.ts';
import type { RequestInfo, StoreOperation } from '../store/shape.ts';
import type { Changed, Row } from '../store/state.ts';

/** The tables to which programs write what the checkers check: `{ "term": "7" }`. */
export const TABLES = { guarded: 'tables/guarded', unguarded: 'tables/unguarded' } as const;

const utf8 = new TextDecoder();

const triggerOf: Partial<Record<StoreOperation, Trigger>> = {
  enqueue: 'enqueued',
  grantLease: 'granted',
  renewLease: 'renewed',
  revokeLease: 'revoked',
};

interface TermRow {
  readonly term: bigint;
  readonly memberId: string;
  readonly entry: Key;
}

export interface ElectionTrackerContext {
  readonly emit: (event: WorldEvent) => void;
  readonly trigger: (trigger: Trigger, subject: string) => void;
  /** The owner of a live lease. */
  readonly ownerOf: (lease: LeaseId | undefined) => string | undefined;
}

export class ElectionTracker implements ServerListener {
  readonly #emit: (event: WorldEvent) => void;
  readonly #trigger: (trigger: Trigger, subject: string) => void;
  readonly #ownerOf: (lease: LeaseId | undefined) => string | undefined;
  /** By election: the holder of the last term. */
  readonly #holders = new Map<string, TermRow>();
  /** By election: the term of the leader's record, while the record exists. */
  readonly #recorded = new Map<string, bigint | undefined>();
  /** By process: the lease of its member key when another process took the id. */
  readonly #replaced = new Map<string, LeaseId>();
  /** Candidates' entries that an operator deleted. */
  readonly #deleted = new Set<Key>();

  constructor({ emit, trigger, ownerOf }: ElectionTrackerContext) {
    this.#emit = emit;
    this.#trigger = trigger;
    this.#ownerOf = ownerOf;
  }

  /** Whether a process keeps a session under a member id that another process has taken. */
  keepsReplacedSession(process: string): boolean {
    return this.#ownerOf(this.#replaced.get(process)) === process;
  }

  /** The first election by name that has had a term. */
  get first(): string | undefined {
    return [...this.#holders.keys()].toSorted()[0];
  }

  /** The holder of the last term of the first election, and the entry that the term names. */
  get holder(): TermRow | undefined {
    return this.#holders.get(this.first ?? '');
  }

  /** Whether the last term of an election names this entry. */
  isHolding(key: Key): boolean {
    return [...this.#holders.values()].some(({ entry }) => entry === key);
  }

  /** Whether an election's last term names this entry, and the record of that term exists. */
  isRecorded(key: Key): boolean {
    return [...this.#holders].some(([election, { entry, term }]) => entry === key && this.#recorded.get(election) === term);
  }

  applied(info: RequestInfo, owner: string): void {
    this.#emit({ ...info, type: 'request', by: owner });
    const trigger = triggerOf[info.operation];
    if (trigger !== undefined) this.#trigger(trigger, owner);
  }

  changed(changes: readonly Changed[]): void {
    for (const change of changes) {
      const [root, election, part] = change.key.split('/');
      if (root === 'tables') this.#table(change);
      else if (root === 'members') this.#member(change);
      else if (root !== 'elections' || election === undefined) continue;
      else if (part === 'leader') this.#leader(election, change);
      else if (part === 'term') this.#term(election, change);
      else if (part === 'candidates') this.#candidate(election, change);
    }
  }

  #table({ key, after, cause }: Changed): void {
    const term = termOf(after);
    if (term === undefined || cause.by !== 'client') return;
    this.#emit({ type: 'wrote', to: key === TABLES.guarded ? 'guarded' : 'unguarded', term });
  }

  /** A process that found its key deleted before it learned who took it has its id back. */
  #member({ before, after, cause }: Changed): void {
    const [former, holder] = [this.#ownerOf(before?.lease), this.#ownerOf(after?.lease)];
    if (holder === undefined || former === holder || cause.by !== 'client') return;
    this.#replaced.delete(holder);
    if (before?.lease === undefined || former === undefined) return;
    this.#replaced.set(former, before.lease);
    this.#emit({ type: 'replaced', process: former, by: holder });
  }

  #candidate(election: string, { key, before, after, cause }: Changed): void {
    const holder = this.#holders.get(election);
    if (before !== undefined && after === undefined && holder?.entry === key)
      this.#emit({ type: 'entryGone', election, term: holder.term, cause });
    if (after === undefined && cause.by === 'operator') this.#deleted.add(key);
    else if (after !== undefined && this.#deleted.has(key))
      this.#emit({ type: 'requeued', election, name: key.slice(key.lastIndexOf('/') + 1) });
  }

  #leader(election: string, { before, after, cause }: Changed): void {
    const [was, is] = [termOf(before), termOf(after)];
    this.#recorded.set(election, is);
    this.#emit({ type: 'record', election, term: is, value: after === undefined ? undefined : valueOf(after) });
    if (was === undefined || was === is) return;
    this.#emit({ type: 'recordGone', election, term: was, cause });
    if (cause.by === 'client' && is === undefined) this.#trigger('released', cause.owner);
  }

  #term(election: string, { before, after, cause }: Changed): void {
    const read = after === undefined ? undefined : parse(after);
    if (read === undefined || cause.by !== 'client') return;
    const row = { term: read.term, memberId: read.memberId, entry: read.entry };
    if (termOf(before) === row.term) return;
    this.#holders.set(election, row);
    this.#emit({ type: 'issued', election, term: row.term, memberId: row.memberId, by: cause.owner });
    const own = cause.owner.startsWith(`${row.memberId}#`);
    this.#trigger(own ? 'claimed' : 'handedOver', cause.owner);
  }
}

function valueOf({ value }: Row): unknown {
  const json: unknown = JSON.parse(utf8.decode(value));
  return typeof json === 'object' && json !== null && 'value' in json ? json.value : undefined;
}

export function termOf(row: Row | undefined): bigint | undefined {
  return row === undefined ? undefined : parse(row)?.term;
}

function parse(row: Row): TermRow | undefined {
  const json: unknown = JSON.parse(utf8.decode(row.value));
  if (typeof json !== 'object' || json === null || !('term' in json) || typeof json.term !== 'string') return undefined;
  const memberId = 'memberId' in json && typeof json.memberId === 'string' ? json.memberId : '';
  const entry = 'entry' in json && typeof json.entry === 'string' ? json.entry : '';
  return { term: BigInt(json.term), memberId, entry };
}
