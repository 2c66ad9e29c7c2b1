/**
 * One statement as a client of `pg` runs it: the object with `submit` that `Client.query` accepts,
 * as cursors are. The query class of `pg` keeps every result, column and row of an answer, and
 * shows them at its end. This one keeps the rows only, and counts them as they arrive.
 */

import type { Connection, Submittable } from 'pg';

import type { Row } from './rows.ts';

/** A row in the message DataRow, as `pg` has read it. */
interface DataRow {
  readonly fields: Row;
}

export class SimpleQuery implements Submittable {
  readonly #text: string;
  readonly #onRow: (row: Row) => boolean;
  readonly #rows: Row[] = [];
  readonly #answer = Promise.withResolvers<readonly Row[]>();

  /** `onRow` says for each row whether to keep it. */
  constructor(text: string, onRow: (row: Row) => boolean) {
    this.#text = text;
    this.#onRow = onRow;
  }

  /** Rejects with the error of the server or of the connection. */
  get answer(): Promise<readonly Row[]> {
    return this.#answer.promise;
  }

  /**
   * `pg` wraps this function if the pool has the option `query_timeout`, and so learns that it may
   * stop its timer.
   */
  callback: (error: unknown) => void = (error) => {
    if (error === null) this.#answer.resolve(this.#rows);
    else this.#answer.reject(error);
  };

  submit(connection: Connection): void {
    connection.query(this.#text);
  }

  handleDataRow({ fields }: DataRow): void {
    if (this.#onRow(fields)) this.#rows.push(fields);
  }

  handleReadyForQuery(): void {
    this.callback(null);
  }

  handleError(error: unknown): void {
    this.callback(error);
  }

  /** No statement of this package copies. A server that asks for data gets the end of it. */
  handleCopyInResponse(connection: Connection): void {
    connection.end();
  }

  handleRowDescription(): void {}
  handleCommandComplete(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyData(): void {}
}
