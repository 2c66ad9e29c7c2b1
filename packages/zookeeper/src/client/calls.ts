/** Calls that several parts of the store make. */

import type { CallTime } from '@incumbent/network';

import { answeredWith, isCode, unlessAbsent } from '../errors.ts';
import { Code } from '../protocol/codes.ts';
import { multi } from '../protocol/multi.ts';
import { ANY_VERSION, create, getData, type Acl, type Data } from '../protocol/nodes.ts';
import type { RequestOptions, ZooKeeperSession } from './session.ts';

/**
 * Commits a transaction that changes nothing. When it resolves, a quorum has agreed to the
 * transaction, so whoever led the ensemble then did lead it after this call began. The result of
 * the check does not matter, because a quorum agrees to a failed transaction too, with one
 * exception: rejects if the ensemble's leader refused the transaction because of the session.
 */
export async function barrier(session: ZooKeeperSession, options: RequestOptions): Promise<void> {
  const { answer } = await session.request(multi, [{ check: { path: '/', version: ANY_VERSION } }], options);
  if (!answer.done && isOfSession(answer.code)) throw answeredWith(answer.code);
}

/** Whether this code says that the session is over, or that it is another connection's. */
function isOfSession(code: number): boolean {
  return code === Code.SESSIONEXPIRED || code === Code.SESSIONMOVED;
}

/** Reads a node as the session's server has it. Undefined if there is no such node. */
export async function readNode(session: ZooKeeperSession, path: string, options: RequestOptions): Promise<Data | undefined> {
  return (await unlessAbsent(session.request(getData, { path }, options)))?.answer;
}

/**
 * Creates the parents of nodes when they are needed, and again if somebody has deleted them.
 * Parents hold nothing, and are not keys.
 */
export class ParentNodes {
  readonly #session: ZooKeeperSession;
  readonly #acls: readonly Acl[];

  constructor(session: ZooKeeperSession, acls: readonly Acl[]) {
    this.#session = session;
    this.#acls = acls;
  }

  /**
   * Creates all parents of these paths that are missing. The requests are under way together, so
   * that many paths take no longer than one. Rejects with an `ExchangeError`.
   */
  async create(paths: readonly string[], time: CallTime): Promise<void> {
    const parents = new Set(paths.map(parentOf));
    // Waits for all of them, also if one fails: nothing goes on after the call.
    const results = await Promise.allSettled([...parents].map((parent) => this.#createAll(parent, time)));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  /** Creates this node, and those of its parents that are missing. */
  async #createAll(path: string, time: CallTime): Promise<void> {
    if (path === '') return;
    try {
      await this.#createNode(path, time);
    } catch (error) {
      if (!isCode(error, 'NONODE')) throw error;
      await this.#createAll(parentOf(path), time);
      await this.#createNode(path, time);
    }
  }

  async #createNode(path: string, time: CallTime): Promise<void> {
    try {
      await this.#session.request(create, { path, data: undefined, acls: this.#acls, mode: 'persistent' }, time.left);
    } catch (error) {
      if (!isCode(error, 'NODEEXISTS')) throw error;
    }
  }
}

/** Empty for a node below the root. */
function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}
