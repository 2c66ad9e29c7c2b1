/** The statements. Every one that looks at keys sees those alone whose lease is alive at that moment. */

import type { Key, LeaseId } from '@incumbent/core';

import { bytesIn, maybeTextIn, numberIn, textIn } from './columns.ts';
import type { Columns, Connection, Parameters, Statement } from '../client/connection.ts';
import type { Host } from '../host/host.ts';
import type { Life } from '../host/process-identity.ts';
import { CHANGES_KEPT } from './schema.ts';

/** A key as the file has it. */
export interface Row {
  readonly key: Key;
  readonly value: Uint8Array;
  readonly revision: number;
  readonly created: number;
  readonly lease?: LeaseId;
  /** Whose lease it is, where that process's death could be seen from here. */
  readonly life?: Life;
}

export interface Listing {
  readonly values: boolean;
  /** Only keys created before this. */
  readonly before: number;
  /** The first ones, or the last; all where neither is given. */
  readonly first?: number | undefined;
  readonly last?: number | undefined;
}

export interface NewLease {
  readonly id: LeaseId;
  readonly ttlUs: number;
  readonly life: Life | undefined;
}

/** Differs whenever what is below a prefix differs: a put raises the newest revision, and what only goes lowers the count. */
export interface Extent {
  readonly count: number;
  readonly newest: number;
  readonly sum: number;
}

/** What has changed is told from what has not by this. */
export interface Pulse {
  readonly revision: number;
  /** A lease has ended and is in the file still: whoever renews it may have looked at the clock before its end, and commit after it. */
  readonly unsettled: boolean;
  /** When the next lease ends if nobody renews it; Infinity: there is none. */
  readonly nextEndUs: number;
}

/** A key, and what it holds; undefined: nothing. */
export interface State {
  readonly key: Key;
  readonly row: Row | undefined;
}

/** More than any counter here. */
export const NEWEST: number = Number.MAX_SAFE_INTEGER;

/**
 * A moment further away than its ttl is one of an earlier boot's clock. (A nearer one may be, too: such a lease is over when that moment comes.) For whoever only
 * looks, leases may have been renewed since that look at the clock: `:latest` is the last moment at which the file can have been read.
 */
const ALIVE = 'l.ends_at_us > :now AND l.ends_at_us <= :latest + l.ttl_us';
/** Of this machine, so far as it can be told. By the boot alone it could not be: containers of one host may each have one of their own, or none. */
const HERE = `(l.machine = :machine OR l.machine = '' OR :machine = '' OR (l.boot = :boot AND l.boot <> ''))`;

const ROWS = `FROM keys k LEFT JOIN leases l ON l.id = k.lease`;
const COLUMNS = 'k.key, k.revision, k.created, k.lease, l.space, l.pid, l.started';
const SHOWN = `(k.lease IS NULL OR (${ALIVE}))`;
// The character after "/" ends the range of what is below a path.
const BELOW = `k.key > :prefix || '/' AND k.key < :prefix || '0'`;
const LISTED = `${COLUMNS}, iif(:values, k.value, x'') AS value`;
const LISTING = `${BELOW} AND k.created < :before`;

type Order = 'ASC' | 'DESC';

/** What each of these keys shows. */
function statesOf(keys: 'known' | 'changed'): string {
  return `SELECT w.key AS watched, ${SHOWN} AS is_shown, ${COLUMNS}, k.value FROM ${keys} w LEFT JOIN keys k ON k.key = w.key LEFT JOIN leases l ON l.id = k.lease`;
}

export class Tables {
  /** All that one look, or one change, does is done at one instant of the host's clock. */
  nowUs = 0;
  /** How much later than that the file may be read. A change has it to itself from that instant on: 0. */
  lateUs = 0;
  readonly #host: Host;
  readonly #connection: Connection;
  readonly #prepared = new Map<string, Statement>();

  constructor(connection: Connection, host: Host) {
    this.#connection = connection;
    this.#host = host;
  }

  read(key: Key): Row | undefined {
    const row = this.#get(`SELECT ${COLUMNS}, k.value ${ROWS} WHERE k.key = :key AND ${SHOWN}`, { key, ...this.#instant });
    return row === undefined ? undefined : this.#row(row);
  }

  /** In the order of creation. */
  list(prefix: Key, { values, before, first, last }: Listing): readonly Row[] {
    const order = last === undefined ? 'ASC' : 'DESC';
    const parameters = { prefix, values: values ? 1 : 0, before, limit: first ?? last ?? -1, ...this.#instant };
    const rows = this.#firstOf(order, parameters) ?? this.#allOf(order, parameters);
    return (last === undefined ? rows : rows.toReversed()).map((row) => this.#row(row));
  }

  /** Of a queue of thousands a few are wanted as a rule: theirs are the only leases to be looked up. Undefined where all are, or one of those has ended. */
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

  /** Of the keys that are known with a revision, or as absent (null), those that are otherwise now. */
  differing(known: ReadonlyMap<Key, number | null>): readonly State[] {
    const sql = `WITH known AS (SELECT value ->> 0 AS key, value ->> 1 AS revision FROM json_each(:known))
      ${statesOf('known')} WHERE iif(${SHOWN}, k.revision, NULL) IS NOT w.revision`;
    return this.#all(sql, { known: JSON.stringify([...known]), ...this.#instant }).map((row) => this.#state(row));
  }

  /**
   * What was put after that revision, or has gone; `ended`: what is under a lease that has ended, too, whose rows are there as yet. Undefined: so much has changed that the file
   * does not tell of all that has gone.
   */
  since(revision: number, ended: boolean): readonly State[] | undefined {
    // In one statement, as it sees one state: between two of them, others may write. A key may be in it more than once: to have each once, SQLite would go through all
    // keys in their order. CROSS: through the leases, and not through the keys.
    const sql = `WITH changed AS (
        SELECT key FROM keys WHERE revision > :revision
        UNION ALL SELECT DISTINCT key FROM gone WHERE revision > :revision
        UNION ALL SELECT k.key FROM leases l CROSS JOIN keys k ON k.lease = l.id WHERE :ended AND NOT (${ALIVE})
      )
      SELECT *, (SELECT revision FROM store) AS newest FROM (${statesOf('changed')})`;
    const rows = this.#all(sql, { revision, ended: ended ? 1 : 0, ...this.#instant });
    const isTold = rows.every((row) => numberIn(row, 'newest') - revision < CHANGES_KEPT);
    return isTold ? rows.map((row) => this.#state(row)) : undefined;
  }

  /** Of what is below the prefix: how much there is, its newest revision, and the sum of all: one may go in the moment in which another comes back. */
  extent(prefix: Key): Extent {
    const sql = `SELECT count(*) AS count, ifnull(max(k.revision), 0) AS newest, ifnull(sum(k.revision), 0) AS sum ${ROWS} WHERE ${BELOW} AND ${SHOWN}`;
    const row = this.#get(sql, { prefix, ...this.#instant }) ?? {};
    return { count: numberIn(row, 'count'), newest: numberIn(row, 'newest'), sum: numberIn(row, 'sum') };
  }

  pulse(): Pulse {
    const { machine, boot } = this.#host;
    const sql = `SELECT revision, (SELECT min(ends_at_us) FROM leases WHERE ends_at_us > :now) AS next_end,
      EXISTS (SELECT 1 FROM leases l WHERE l.ends_at_us <= :now AND ${HERE}) AS unsettled FROM store`;
    const row = this.#get(sql, { machine, boot, now: this.nowUs }) ?? {};
    return {
      revision: numberIn(row, 'revision'),
      unsettled: row['unsettled'] === 1,
      nextEndUs: row['next_end'] === null ? Infinity : numberIn(row, 'next_end'),
    };
  }

  /** Writes whatever is there; the new revision. */
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

  addLease({ id, ttlUs, life }: NewLease): void {
    const { machine, boot, space } = this.#host;
    const sql = `INSERT INTO leases (id, ttl_us, ends_at_us, machine, boot, space, pid, started)
      VALUES (:id, :ttl, :end, :machine, :boot, :space, :pid, :started)`;
    const seen = life === undefined || space === undefined ? { space: null, pid: null, started: null } : { space, ...life };
    this.#run(sql, { id, ttl: ttlUs, end: this.nowUs + ttlUs, machine, boot, ...seen });
  }

  /** The ttl of a lease that lives; undefined: there is none. */
  ttlUsOf(id: LeaseId): number | undefined {
    const row = this.#get(`SELECT l.ttl_us AS ttl FROM leases l WHERE l.id = :id AND ${ALIVE}`, { id, ...this.#instant });
    return row === undefined ? undefined : numberIn(row, 'ttl');
  }

  /** The lease lives for its whole ttl from now on. */
  prolong(id: LeaseId): void {
    this.#run('UPDATE leases SET ends_at_us = :now + ttl_us WHERE id = :id', { id, now: this.nowUs });
  }

  /** Ends leases, and every key that is bound to one. */
  endLeases(ids: readonly LeaseId[]): void {
    this.#run('DELETE FROM leases WHERE id IN (SELECT value FROM json_each(:leases))', { leases: JSON.stringify(ids) });
  }

  /** Removes what has ended: what an earlier boot of this machine left, too. */
  sweep(): void {
    const { machine, boot } = this.#host;
    const ended = this.#all(`SELECT l.id FROM leases l WHERE NOT (${ALIVE}) AND ${HERE}`, { machine, boot, ...this.#instant });
    if (ended.length > 0) this.endLeases(ended.map((row) => textIn(row, 'id')));
  }

  /** Of the processes that have leases, those whose death could be seen from here. */
  lives(): readonly Life[] {
    const rows = this.#all('SELECT DISTINCT space, pid, started FROM leases WHERE space = :space', { space: this.#host.space ?? null });
    return rows.flatMap((row) => this.#lifeIn(row) ?? []);
  }

  /** What a process has of leases. */
  leasesOf({ pid, started }: Life): readonly LeaseId[] {
    const parameters = { space: this.#host.space ?? null, pid, started };
    const rows = this.#all('SELECT id FROM leases WHERE space = :space AND pid = :pid AND started = :started', parameters);
    return rows.map((row) => textIn(row, 'id'));
  }

  /** Leases of another machine, of which nothing can be told from here. */
  foreign(): readonly { readonly id: LeaseId; readonly machine: string }[] {
    const { machine, boot } = this.#host;
    const rows = this.#all(`SELECT l.id, l.machine FROM leases l WHERE NOT ${HERE}`, { machine, boot });
    return rows.map((row) => ({ id: textIn(row, 'id'), machine: textIn(row, 'machine') }));
  }

  get #instant(): { readonly now: number; readonly latest: number } {
    return { now: this.nowUs, latest: this.nowUs + this.lateUs };
  }

  #nextRevision(): number {
    return numberIn(this.#get('UPDATE store SET revision = revision + 1 RETURNING revision', {}) ?? {}, 'revision');
  }

  #state(row: Columns): State {
    const isThere = row['key'] !== null && row['is_shown'] === 1;
    return { key: textIn(row, 'watched'), row: isThere ? this.#row(row) : undefined };
  }

  #row(row: Columns): Row {
    const lease = maybeTextIn(row, 'lease');
    const life = this.#lifeIn(row);
    return {
      key: textIn(row, 'key'),
      value: bytesIn(row, 'value'),
      revision: numberIn(row, 'revision'),
      created: numberIn(row, 'created'),
      ...(lease === undefined ? {} : { lease }),
      ...(life === undefined ? {} : { life }),
    };
  }

  #lifeIn(row: Columns): Life | undefined {
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
