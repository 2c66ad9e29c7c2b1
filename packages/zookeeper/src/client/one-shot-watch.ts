/**
 * A watch for servers before 3.6, whose watches end after one event. Every node of the tree gets a
 * watch of its own, and a new one after each event. The new watch is set before the listeners are
 * notified, so that a listener that then reads misses nothing.
 */

import { unlessAbsent } from '../errors.ts';
import { exists, getChildren, getData } from '../protocol/nodes.ts';
import type { Operation, Reply } from '../protocol/operation.ts';
import type { WatchEvent, WatchMode } from '../protocol/watches.ts';

/** Sends a request on the current connection, with a time limit. */
export type Ask = <Request, Answer>(operation: Operation<Request, Answer>, request: Request) => Promise<Reply<Answer>>;

export class OneShotWatch {
  readonly #root: string;
  readonly #mode: WatchMode;
  readonly #ask: Ask;
  /** The nodes that have a watch. */
  readonly #known = new Set<string>();

  constructor(root: string, mode: WatchMode, ask: Ask) {
    this.#root = root;
    this.#mode = mode;
    this.#ask = ask;
  }

  /** Resolves when all watches are set. Rejects with an `ExchangeError`. */
  async arm(): Promise<void> {
    // `exists` also watches for the creation of the root. Below the root, the parent's watch does.
    if (!(await unlessAbsent(this.#ask(exists, { path: this.#root, watch: true })))) return;
    this.#known.add(this.#root);
    await this.#armChildren(this.#root);
  }

  /** Resolves when the watches that the event ended are set again. */
  async rearm({ path, kind }: WatchEvent): Promise<void> {
    if (path === this.#root && kind !== 'childrenChanged') return this.arm();
    if (kind === 'deleted') this.#known.delete(path);
    else if (kind === 'dataChanged') await this.#armData(path);
    else await this.#armChildren(path);
  }

  async #armData(path: string): Promise<void> {
    // Not with `exists`, which would leave a watch behind for every deleted node.
    if (!(await unlessAbsent(this.#ask(getData, { path, watch: true })))) this.#known.delete(path);
  }

  async #armChildren(path: string): Promise<void> {
    if (this.#mode === 'node') return;
    const listed = await unlessAbsent(this.#ask(getChildren, { path, watch: true }));
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
