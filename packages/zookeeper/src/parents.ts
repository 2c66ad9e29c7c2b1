/** The nodes that others stand under: made when they are needed, and again when somebody has removed them. They hold nothing, and are no keys. */

import type { CallTime } from '@incumbent/network';

import type { Acl } from './protocol/acl.ts';
import { isCode } from './connection/failure.ts';
import { create } from './protocol/nodes.ts';
import type { Session } from './client/session.ts';

export class Parents {
  readonly #session: Session;
  readonly #acls: readonly Acl[];

  constructor(session: Session, acls: readonly Acl[]) {
    this.#session = session;
    this.#acls = acls;
  }

  /** Makes what a path stands under. Rejects with an `ExchangeError`. */
  async make(path: string, time: CallTime): Promise<void> {
    const parent = path.slice(0, path.lastIndexOf('/'));
    if (parent === '') return;
    try {
      await this.#create(parent, time);
    } catch (error) {
      if (!isCode(error, 'NONODE')) throw error;
      await this.make(parent, time);
      await this.#create(parent, time);
    }
  }

  async #create(path: string, time: CallTime): Promise<void> {
    try {
      await this.#session.request(create, { path, data: undefined, acls: this.#acls, mode: 'persistent' }, time.left);
    } catch (error) {
      if (!isCode(error, 'NODEEXISTS')) throw error;
    }
  }
}
