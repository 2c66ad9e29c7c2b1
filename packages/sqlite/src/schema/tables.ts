/**
 * The SQL statements on the tables. Every statement that reads keys ignores those whose lease has
 * ended by the host's clock, whether their rows were deleted yet or not.
 */

import type { Key, LeaseId } from '@incumbent/core';

import type { Host } from '../host/host.ts';
import type { ProcessIdentity } from '../host/process-identity.ts';
import { bytesIn, maybeTextIn, numberIn, textIn } from './columns.ts';
import type { Columns, Connection, Parameters, Statement } from './connection.ts';
import { CHANGES_KEPT } from './schema.ts';

/** A key as the file has it, with the namespace in front. */
export interface Row {
  readonly key: Key;
  readonly value: Uint8Array;
  readonly revision: number;
  /** The revision at which the key was created. */
  readonly created: number;
  readonly lease?: LeaseId;
  /** The process that holds the lease, if this process could see its death. */
  readonly holder?: ProcessIdentity;
}

export interface Listing {
  /** False: values are empty. */
  readonly values: boolean;
  /** Only keys created before this revision. */
  readonly before: number;
  /** Only the first keys, or only the last; all keys if neither is given. */
  readonly first?: number | undefined;
  readonly last?: number | undefined;
}

export interface NewLease {
  readonly id: LeaseId;
  readonly ttlUs: number;
  /** Undefined: the lease ends only by its ttl. */
  readonly holder: ProcessIdentity | undefined;
}

/**
 * Differs whenever the keys below a prefix differ: a put raises the newest revision, and a deletion
 * lowers the count. The sum tells apart two states in which one key went and another came back.
 */
export interface Fingerprint {
  readonly count: number;
  readonly newest: number;
  /** The sum of all revisions, modulo `SUM_BELOW`. */
  readonly sum: number;
}

/** The sum of many large revisions is no safe integer. */
const SUM_BELOW = 2 ** 32;

/** The same as `Tables.fingerprint`, of rows that were read. */
export function fingerprintOf(rows: readonly Row[]): Fingerprint {
  let [newest, sum] = [0, 0];
  for (const { revision } of rows) {
    newest = Math.max(newest, revision);
    sum = (sum + revision) % SUM_BELOW;
  }
  return { count: rows.length, newest, sum };
}

/** What a reader compares to find out whether any key has changed. */
export interface FileStatus {
  readonly revision: number;
  /**
   * Whether a lease that has ended is still in the file. A process that read the clock before the
   * lease ended may still renew it, and commit after the end.
   */
  readonly isUnsettled: boolean;
  /** When the next lease ends if nobody renews it. Infinity: there is no lease. */
  readonly nextEndUs: number;
}

/** The state of one key. `row` is undefined if the key is absent. */
export interface KeyRow {
  readonly key: Key;
  readonly row: Row | undefined;
}

/** Higher than any revision. */
export const NEWEST: number = Number.MAX_SAFE_INTEGER;

/**
 * Whether a lease is alive. An end further away than the ttl is a time of an earlier boot's clock;
 * if a time of an earlier boot is nearer, the lease ends when that time comes. A read takes a while
 * after reading the clock, and leases may be renewed meanwhile: `:latest` is the latest time at
 * which the file can have been read.
 */
const ALIVE = 'l.ends_at_us > :now AND l.ends_at_us <= :latest + l.ttl_us';
/**
 * Whether a lease is of this machine, as far as this can be known. The boot alone does not tell:
 * containers of one host may have a boot id of their own each, or none.
 */
const HERE = `(l.machine = :machine OR l.machine = '' OR :machine = '' OR (l.boot = :boot AND l.boot <> ''))`;

const ROWS = `FROM keys k LEFT JOIN leases l ON l.id = k.lease`;
const COLUMNS = 'k.key, k.revision, k.created, k.lease, l.space, l.pid, l.started';
const SHOWN = `(k.lease IS NULL OR (${ALIVE}))`;
// "0" is the character after "/", so it ends the range of the keys below a prefix.
const BELOW = `k.key > :prefix || '/' AND k.key < :prefix || '0'`;
const LISTED = `${COLUMNS}, iif(:values, k.value, x'') AS value`;
const LISTING = `${BELOW} AND k.created < :before`;

type Order = 'ASC' | 'DESC';

/** Selects the state of each key in the table `known` or `changed`. */
function statesOf(keys: 'known' | 'changed'): string {
  return `SELECT w.key AS watched, ${SHOWN} AS is_shown, ${COLUMNS}, k.value FROM ${keys} w LEFT JOIN keys k ON k.key = w.key LEFT JOIN leases l ON l.id = k.lease`;
}

export class Tables {
  #nowUs = 0;
  #maxReadUs = 0;
  readonly #host: Host;
  readonly #connection: Connection;
  readonly #prepared = new Map<string, Statement>();

  constructor(connection: Connection, host: Host) {
    this.#connection = connection;
    this.#host = host;
  }

  /**
   * Sets the time by which leases end, for all statements of one read or one transaction. A
   * statement may read up to `maxReadUs` later. Pass 0 inside a transaction that writes.
   */
  readAt(nowUs: number, maxReadUs: number): void {
    this.#nowUs = nowUs;
    this.#maxReadUs = maxReadUs;
  }

  /** Undefined: the key is absent. */
  read(key: Key): Row | undefined {
    const row = this.#get(`SELECT ${COLUMNS}, k.value ${ROWS} WHERE k.key = :key AND ${SHOWN}`, { key, ...this.#times });
    return row === undefined ? undefined : this.#row(row);
  }

  /** The keys below a prefix, in the order of creation. */
  list(prefix: Key, { values, before, first, last }: Listing): readonly Row[] {
    const order = last === undefined ? 'ASC' : 'DESC';
    const parameters = { prefix, values: values ? 1 : 0, before, limit: first ?? last ?? -1, ...this.#times };
    const rows = this.#firstOf(order, parameters) ?? this.#allOf(order, parameters);
    return (last === undefined ? rows : rows.toReversed()).map((row) => this.#row(row));
  }

  /**
   * Reads the leases of only the keys that are returned; callers usually want a few keys of a queue
   * of thousands. Undefined: there is no limit, or one of these leases has ended.
   */
  #firstOf(order: Order, parameters: Parameters): readonly Columns[] | undefined {
    if (parameters['limit'] === -1) return undefined;
    const sql = `SELECT ${LISTED}, ${SHOWN} AS is_shown
      FROM (SELECT * FROM keys k WHERE ${LISTING} ORDER BY k.created ${order} LIMIT :limit) k LEFT JOIN leases l ON l.id = k.lease ORDER BY k.created ${order}`;
    const rows = this.#all(sql, parameters);
    return rows.every((row) => row['is_shown'] === 1) ? rows : undefined;
  }

  #allOf(order: Order, parameters: Parameters): readonly Columns[] {
    return this.#all(`SELECT ${LISTED} ${ROWS} WHERE ${LISTING} AND ${SHOWN} ORDER BY k.created ${order} LIMIT :limit`, parameters);
  }

  /** Those of the `known` keys that have another revision now. Null stands for an absent key. */
  differing(known: ReadonlyMap<Key, number | null>): readonly KeyRow[] {
    const sql = `WITH known AS (SELECT value ->> 0 AS key, value ->> 1 AS revision FROM json_each(:known))
      ${statesOf('known')} WHERE iif(${SHOWN}, k.revision, NULL) IS NOT w.revision`;
    return this.#all(sql, { known: JSON.stringify([...known]), ...this.#times }).map((row) => this.#state(row));
  }

  /**
   * The keys that were put or deleted after `revision`. With `ended`, also the keys of leases that
   * have ended and whose rows are still there. Undefined: the file does not remember that many
   * deletions.
   */
  since(revision: number, ended: boolean): readonly KeyRow[] | undefined {
    // One statement, because other processes may write between two. A key may be in the result more
    // than once: to remove duplicates, SQLite would scan all keys. CROSS JOIN makes SQLite scan the
    // leases instead of the keys.
    const sql = `WITH changed AS (
        SELECT key FROM keys WHERE revision > :revision
        UNION ALL SELECT DISTINCT key FROM gone WHERE revision > :revision
        UNION ALL SELECT k.key FROM leases l CROSS JOIN keys k ON k.lease = l.id WHERE :ended AND NOT (${ALIVE})
      )
      SELECT *, (SELECT revision FROM store) AS newest FROM (${statesOf('changed')})`;
    const rows = this.#all(sql, { revision, ended: ended ? 1 : 0, ...this.#times });
    const isComplete = rows.every((row) => numberIn(row, 'newest') - revision < CHANGES_KEPT);
    return isComplete ? rows.map((row) => this.#state(row)) : undefined;
  }

  /** The fingerprint of the keys below a prefix. */
  fingerprint(prefix: Key): Fingerprint {
    const sum = `ifnull(sum(k.revision), 0) % ${SUM_BELOW}`;
    const sql = `SELECT count(*) AS count, ifnull(max(k.revision), 0) AS newest, ${sum} AS sum ${ROWS} WHERE ${BELOW} AND ${SHOWN}`;
    const row = this.#get(sql, { prefix, ...this.#times }) ?? {};
    return { count: numberIn(row, 'count'), newest: numberIn(row, 'newest'), sum: numberIn(row, 'sum') };
  }

  status(): FileStatus {
    const { machine, boot } = this.#host;
    const sql = `SELECT revision, (SELECT min(ends_at_us) FROM leases WHERE ends_at_us > :now) AS next_end,
      EXISTS (SELECT 1 FROM leases l WHERE l.ends_at_us <= :now AND ${HERE}) AS unsettled FROM store`;
    const row = this.#get(sql, { machine, boot, now: this.#nowUs }) ?? {};
    return {
      revision: numberIn(row, 'revision'),
      isUnsettled: row['unsettled'] === 1,
      nextEndUs: row['next_end'] === null ? Infinity : numberIn(row, 'next_end'),
    };
  }

  /** Creates or replaces a key, and returns its new revision. */
  put(key: Key, value: Uint8Array, lease: LeaseId | null): number {
    const revision = this.#nextRevision();
    const sql = `INSERT INTO keys (key, value, revision, created, lease) VALUES (:key, :value, :revision, :revision, :lease)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value, revision = excluded.revision, lease = excluded.lease`;
    this.#run(sql, { key, value, revision, lease });
    return revision;
  }

  delete(key: Key): void {
    this.#run('DELETE FROM keys WHERE key = :key', { key });
  }

  addLease({ id, ttlUs, holder }: NewLease): void {
    const { machine, boot, space } = this.#host;
    const sql = `INSERT INTO leases (id, ttl_us, ends_at_us, machine, boot, space, pid, started)
      VALUES (:id, :ttl, :end, :machine, :boot, :space, :pid, :started)`;
    const process = holder === undefined || space === undefined ? { space: null, pid: null, started: null } : { space, ...holder };
    this.#run(sql, { id, ttl: ttlUs, end: this.#nowUs + ttlUs, machine, boot, ...process });
  }

  /** The ttl of a live lease. Undefined: there is no such lease. */
  ttlUsOf(id: LeaseId): number | undefined {
    const row = this.#get(`SELECT l.ttl_us AS ttl FROM leases l WHERE l.id = :id AND ${ALIVE}`, { id, ...this.#times });
    return row === undefined ? undefined : numberIn(row, 'ttl');
  }

  /** Makes the lease end its whole ttl from now. */
  renewLease(id: LeaseId): void {
    this.#run('UPDATE leases SET ends_at_us = :now + ttl_us WHERE id = :id', { id, now: this.#nowUs });
  }

  /** Deletes leases and all keys bound to them. */
  endLeases(ids: readonly LeaseId[]): void {
    this.#run('DELETE FROM leases WHERE id IN (SELECT value FROM json_each(:leases))', { leases: JSON.stringify(ids) });
  }

  /** Deletes the leases that have ended, including those of an earlier boot of this machine. */
  deleteEndedLeases(): void {
    const { machine, boot } = this.#host;
    const ended = this.#all(`SELECT l.id FROM leases l WHERE NOT (${ALIVE}) AND ${HERE}`, { machine, boot, ...this.#times });
    if (ended.length > 0) this.endLeases(ended.map((row) => textIn(row, 'id')));
  }

  /** The processes that hold leases and whose death this process could see. */
  holders(): readonly ProcessIdentity[] {
    const rows = this.#all('SELECT DISTINCT space, pid, started FROM leases WHERE space = :space', { space: this.#host.space ?? null });
    return rows.flatMap((row) => this.#holderIn(row) ?? []);
  }

  /** The leases of one process. */
  leasesOf({ pid, started }: ProcessIdentity): readonly LeaseId[] {
    const parameters = { space: this.#host.space ?? null, pid, started };
    const rows = this.#all('SELECT id FROM leases WHERE space = :space AND pid = :pid AND started = :started', parameters);
    return rows.map((row) => textIn(row, 'id'));
  }

  /** The leases of other machines. This machine's clock says nothing about when they end. */
  foreignLeases(): readonly { readonly id: LeaseId; readonly machine: string }[] {
    const { machine, boot } = this.#host;
    const rows = this.#all(`SELECT l.id, l.machine FROM leases l WHERE NOT ${HERE}`, { machine, boot });
    return rows.map((row) => ({ id: textIn(row, 'id'), machine: textIn(row, 'machine') }));
  }

  get #times(): { readonly now: number; readonly latest: number } {
    return { now: this.#nowUs, latest: this.#nowUs + this.#maxReadUs };
  }

  #nextRevision(): number {
    return numberIn(this.#get('UPDATE store SET revision = revision + 1 RETURNING revision', {}) ?? {}, 'revision');
  }

  #state(row: Columns): KeyRow {
    const isThere = row['key'] !== null && row['is_shown'] === 1;
    return { key: textIn(row, 'watched'), row: isThere ? this.#row(row) : undefined };
  }

  #row(row: Columns): Row {
    const lease = maybeTextIn(row, 'lease');
    const holder = this.#holderIn(row);
    return {
      key: textIn(row, 'key'),
      value: bytesIn(row, 'value'),
      revision: numberIn(row, 'revision'),
      created: numberIn(row, 'created'),
      ...(lease === undefined ? {} : { lease }),
      ...(holder === undefined ? {} : { holder }),
    };
  }

  #holderIn(row: Columns): ProcessIdentity | undefined {
    const { space } = this.#host;
    if (space === undefined || row['space'] !== space) return undefined;
    return { pid: numberIn(row, 'pid'), started: textIn(row, 'started') };
  }

  #get(sql: string, parameters: Parameters): Columns | undefined {
    return this.#statement(sql).get(parameters);
  }

  #all(sql: string, parameters: Parameters): readonly Columns[] {
    return this.#statement(sql).all(parameters);
  }

  #run(sql: string, parameters: Parameters): void {
    this.#statement(sql).run(parameters);
  }

  #statement(sql: string): Statement {
    const known = this.#prepared.get(sql);
    if (known !== undefined) return known;
    const statement = this.#connection.prepare(sql);
    this.#prepared.set(sql, statement);
    return statement;
  }
}
