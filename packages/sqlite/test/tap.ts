/** Records the SQL that a store runs, and lets a test run code before or after a step, or throw. */

import { DatabaseSync } from 'node:sqlite';

import type { Connect, Connection, Statement } from '../src/schema/connection.ts';

/** Called with the SQL of a step. May throw an error as SQLite would. */
export type Interceptor = (sql: string, database: DatabaseSync) => void;

export class Tap {
  /** The SQL of every step, in order: commands, and statements each time they run. */
  readonly steps: string[] = [];
  before: Interceptor = () => {};
  after: Interceptor = () => {};
  /** How many connections are open. */
  open = 0;

  readonly connect: Connect = (path): Connection => {
    const database = new DatabaseSync(path);
    this.open += 1;
    return {
      exec: (sql) => this.#step(sql, database, () => database.exec(sql)),
      prepare: (sql) => this.#statement(sql, database),
      close: () => {
        this.open -= 1;
        database.close();
      },
    };
  };

  /** How many of the steps have something in them. */
  count(part: string | RegExp): number {
    return this.steps.filter((sql) => (typeof part === 'string' ? sql.includes(part) : part.test(sql))).length;
  }

  /** The steps so far, which are then forgotten. */
  take(): readonly string[] {
    return this.steps.splice(0);
  }

  #statement(sql: string, database: DatabaseSync): Statement {
    const statement = database.prepare(sql);
    return {
      get: (parameters) => this.#step(sql, database, () => statement.get(parameters)),
      all: (parameters) => this.#step(sql, database, () => statement.all(parameters)),
      run: (parameters) => this.#step(sql, database, () => statement.run(parameters)),
    };
  }

  #step<T>(sql: string, database: DatabaseSync, step: () => T): T {
    this.steps.push(sql);
    this.before(sql, database);
    const result = step();
    this.after(sql, database);
    return result;
  }
}
