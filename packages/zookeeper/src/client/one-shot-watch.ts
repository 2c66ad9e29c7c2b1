/**
 * A watch for servers before 3.6, whose watches tell of one event and are gone: every node of the tree gets its own, and a new one after each
 * event. Asked for again before anybody is told, so that whoever then looks misses nothing.
 */

import { isCode } from '../connection/failure.ts';
import { exists, getChildren, getData } from '../protocol/nodes.ts';
import type { Operation, Reply } from '../protocol/operation.ts';
import type { WatchEvent, WatchMode } from '../protocol/watches.ts';

/** Asks the server on the current connection, bounded in time. */
export type Ask = <Request, Answer>(operation: Operation<Request, Answer>, request: Request) => Promise<Reply<Answer>>;

export class OneShotWatch {
  readonly #root: string;
  readonly #mode: WatchMode;
  readonly #ask: Ask;
  /** The nodes that have their watches. */
  readonly #known = new Set<string>();

  constructor(root: string, mode: WatchMode, ask: Ask) {
    this.#root = root;
    this.#mode = mode;
    this.#ask = ask;
  }

  /** Resolves when all watches stand. Rejects with an `ExchangeError`. */
  async arm(): Promise<void> {
    // A watch for the making of the root, should there be none. Below it the parent's watch tells of that.
    if (!(await found(this.#ask(exists, { path: this.#root, watch: true })))) return;
    this.#known.add(this.#root);
    await this.#armChildren(this.#root);
  }

  /** Resolves when the watches that the event used up stand again. */
  async rearm({ path, kind }: WatchEvent): Promise<void> {
    if (path === this.#root && kind !== 'childrenChanged') return this.arm();
    if (kind === 'deleted') this.#known.delete(path);
    else if (kind === 'dataChanged') await this.#armData(path);
    else await this.#armChildren(path);
  }

  async #armData(path: string): Promise<void> {
    // Not by `exists`, which would leave a watch behind for each node that is no more.
    if (!(await found(this.#ask(getData, { path, watch: true })))) this.#known.delete(path);
  }

  async #armChildren(path: string): Promise<void> {
    if (this.#mode === 'node') return;
    const listed = await found(this.#ask(getChildren, { path, watch: true }));
    if (listed === undefined) {
      this.#known.delete(path);
      return;
    }
    const below = listed.answer.children.map((name) => (path === '/' ? `/${name}` : `${path}/${name}`));
    await Promise.all(below.filter((child) => !this.#known.has(child)).map((child) => this.#armNew(child)));
  }

  async #armNew(path: string): Promise<void> {
    this.#known.add(path);
    await Promise.all([this.#armData(path), this.#armChildren(path)]);
  }
}

/** Undefined where there is no such node. */
async function found<T>(reply: Promise<T>): Promise<T | undefined> {
  try {
    return await reply;
  } catch (error) {
    if (isCode(error, 'NONODE')) return undefined;
    throw error;
  }
}
