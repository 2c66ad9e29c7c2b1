/** The statements. Every one that looks at keys sees those alone whose lease is alive at that moment. */

import type { Key, LeaseId } from '@incumbent/core';

import { bytesIn, maybeTextIn, numberIn, textIn } from './columns.ts';
import type { Columns, Connection, Parameters, Statement } from './connection.ts';
import type { Host } from './host.ts';
import type { Life } from './life.ts';
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

export interface LeaseLife {
  readonly id: LeaseId;
  readonly life: Life;
}

/** Differs whenever what is below a prefix differs: a put raises the newest revision, and what only goes lowers the count. */
export interface Extent {
  readonly count: number;
  readonly newest: number;
}

/** What has changed is told from what has not by this. */
export interface Pulse {
  readonly revision: number;
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

/** A moment further away than its ttl is one of an earlier boot's clock. (A nearer one may be, too: such a lease is over when that moment comes.) */
const ALIVE = 'l.ends_at_us > :now AND l.ends_at_us <= :now + l.ttl_us';
/** Of this machine, so far as it can be told. By the boot alone it could not be: containers of one host may each have one of their own, or none. */
const HERE = `(l.machine = :machine OR l.machine = '' OR :machine = '' OR (l.boot = :boot AND l.boot <> ''))`;

const ROWS = `FROM keys k LEFT JOIN leases l ON l.id = k.lease`;
const COLUMNS = 'k.key, k.revision, k.created, k.lease, l.space, l.pid, l.started';
const SHOWN = `(k.lease IS NULL OR (${ALIVE}))`;
// The character after "/" ends the range of what is below a path.
const BELOW = `k.key > :prefix || '/' AND k.key < :prefix || '0'`;

/** What each of these keys shows. */
function statesOf(keys: 'known' | 'changed'): string {
  return `SELECT w.key AS watched, ${SHOWN} AS is_shown, ${COLUMNS}, k.value FROM ${keys} w LEFT JOIN keys k ON k.key = w.key LEFT JOIN leases l ON l.id = k.lease`;
}

export class Tables {
  /** All that one look, or one change, does is done at one instant of the host's clock. */
  nowUs = 0;
  readonly #host: Host;
  readonly #connection: Connection;
  readonly #prepared = new Map<string, Statement>();

  constructor(connection: Connection, host: Host) {
    this.#connection = connection;
    this.#host = host;
  }

  read(key: Key): Row | undefined {
    const row = this.#get(`SELECT ${COLUMNS}, k.value ${ROWS} WHERE k.key = :key AND ${SHOWN}`, { key, now: this.nowUs });
    return row === undefined ? undefined : this.#row(row);
  }

  /** In the order of creation. */
  list(prefix: Key, { values, before, first, last }: Listing): readonly Row[] {
    const sql = `SELECT ${COLUMNS}, iif(:values, k.value, x'') AS value ${ROWS}
      WHERE ${BELOW} AND k.created < :before AND ${SHOWN} ORDER BY k.created ${last === undefined ? 'ASC' : 'DESC'} LIMIT :limit`;
    const parameters = { prefix, values: values ? 1 : 0, before, limit: first ?? last ?? -1, now: this.nowUs };
    const rows = this.#all(sql, parameters).map((row) => this.#row(row));
    return last === undefined ? rows : rows.toReversed();
  }

  /** Of the keys that are known with a revision, or as absent (null), those that are otherwise now. */
  differing(known: ReadonlyMap<Key, number | null>): readonly State[] {
    const sql = `WITH known AS (SELECT value ->> 0 AS key, value ->> 1 AS revision FROM json_each(:known))
      ${statesOf('known')} WHERE iif(${SHOWN}, k.revision, NULL) IS NOT w.revision`;
    return this.#all(sql, { known: JSON.stringify([...known]), now: this.nowUs }).map((row) => this.#state(row));
  }

  /**
   * What was put after that revision, or has gone; `ended`: what is under a lease that has ended, too, whose rows are there as yet. Undefined: so much has changed that the file
   * does not tell of all that has gone.
   */
  since(revision: number, ended: boolean): readonly State[] | undefined {
    // In one statement, as it sees one state: between two of them, others may write.
    const sql = `WITH changed AS (
        SELECT key FROM keys WHERE revision > :revision
        UNION SELECT key FROM gone WHERE revision > :revision
        UNION SELECT k.key FROM leases l JOIN keys k ON k.lease = l.id WHERE :ended AND NOT (${ALIVE})
      )
      SELECT *, (SELECT revision FROM store) AS newest FROM (${statesOf('changed')})`;
    const rows = this.#all(sql, { revision, ended: ended ? 1 : 0, now: this.nowUs });
    const isTold = rows.every((row) => numberIn(row, 'newest') - revision < CHANGES_KEPT);
    return isTold ? rows.map((row) => this.#state(row)) : undefined;
  }

  /** Of what is below the prefix: how much there is, and its newest revision. */
  extent(prefix: Key): Extent {
    const sql = `SELECT count(*) AS count, ifnull(max(k.revision), 0) AS newest ${ROWS} WHERE ${BELOW} AND ${SHOWN}`;
    const row = this.#get(sql, { prefix, now: this.nowUs }) ?? {};
    return { count: numberIn(row, 'count'), newest: numberIn(row, 'newest') };
  }

  pulse(): Pulse {
    const sql = `SELECT revision, (SELECT min(ends_at_us) FROM leases WHERE ends_at_us > :now) AS next_end FROM store`;
    const row = this.#get(sql, { now: this.nowUs }) ?? {};
    return {
      revision: numberIn(row, 'revision'),
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
    const row = this.#get(`SELECT l.ttl_us AS ttl FROM leases l WHERE l.id = :id AND ${ALIVE}`, { id, now: this.nowUs });
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
    const ended = this.#all(`SELECT l.id FROM leases l WHERE NOT (${ALIVE}) AND ${HERE}`, { machine, boot, now: this.nowUs });
    if (ended.length > 0) this.endLeases(ended.map((row) => textIn(row, 'id')));
  }

  /** Leases of processes whose death could be seen from here. */
  lives(): readonly LeaseLife[] {
    const rows = this.#all('SELECT id, space, pid, started FROM leases', {});
    return rows.flatMap((row) => {
      const life = this.#lifeIn(row);
      return life === undefined ? [] : [{ id: textIn(row, 'id'), life }];
    });
  }

  /** Leases of another machine, of which nothing can be told from here. */
  foreign(): readonly { readonly id: LeaseId; readonly machine: string }[] {
    const { machine, boot } = this.#host;
    const rows = this.#all(`SELECT l.id, l.machine FROM leases l WHERE NOT ${HERE}`, { machine, boot });
    return rows.map((row) => ({ id: textIn(row, 'id'), machine: textIn(row, 'machine') }));
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
