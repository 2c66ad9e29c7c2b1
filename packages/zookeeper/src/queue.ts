/**
 * Queue entries: sequential nodes of a lease's session. The name of an entry holds its lease, so
 * that an entry whose creation has an unknown outcome is found again.
 */

import type { Clock, Entry, Key, LeaseId, TimedCall } from '@incumbent/core';
import { isIncumbentError, type NewEntry, outcomeOf } from '@incumbent/core/adapter';
import { Attempt, CallTime } from '@incumbent/network';

import { barrier, readNode } from './client/calls.ts';
import type { ZooKeeperSession } from './client/session.ts';
import { ExchangeError, isCode, unlessAbsent } from './errors.ts';
import { isEntryNode, nameBeforeCounter, readEntryNode, type Namespace } from './namespace.ts';
import { create, getChildren, type CreateAnswer } from './protocol/nodes.ts';
import type { WriteContext } from './transactions.ts';

/** The latest call of one name. */
interface LatestCall {
  /** Resolves when this call and all earlier ones of the name have ended. */
  readonly ended: Promise<void>;
  isUnderWay: boolean;
}

export class Queue {
  readonly #context: WriteContext;
  readonly #clock: Clock;
  /** By lease and name. An entry of such a name may exist, so a later call looks for it first. */
  readonly #calls = new Map<LeaseId, Map<string, LatestCall>>();

  constructor(context: WriteContext, clock: Clock) {
    this.#context = context;
    this.#clock = clock;
  }

  /**
   * Creates an entry, or returns the one of this name and lease. Runs one call per name at a time.
   */
  async enqueue(entry: NewEntry, options: TimedCall): Promise<Entry> {
    const { prefix, name, lease } = entry;
    const calls = this.#callsOf(lease);
    const path = `${prefix}/${name}`;
    const before = calls.get(path)?.ended;
    const made = this.#enqueue(entry, before, options);
    const call: LatestCall = {
      ended: Promise.allSettled([before, made]).then(() => {
        call.isUnderWay = false;
      }),
      isUnderWay: true,
    };
    calls.set(path, call);
    made.catch((error: unknown) => this.#forgetIfGone(lease, error));
    return made;
  }

  /**
   * Forgets an entry that was deleted. A lease may last for months, and each campaign of its member
   * adds an entry.
   */
  forgetEntry(key: Key): void {
    const nameAt = key.lastIndexOf('/') + 1;
    const node = readEntryNode(key.slice(nameAt));
    if (node === undefined) return;
    const calls = this.#calls.get(node.lease);
    const path = key.slice(0, nameAt) + node.name;
    if (calls?.get(path)?.isUnderWay === false) calls.delete(path);
  }

  /** Forgets a lease that has ended. */
  forget(lease: LeaseId): void {
    this.#calls.delete(lease);
  }

  #forgetIfGone(lease: LeaseId, error: unknown): void {
    if (isIncumbentError(error, 'LEASE_EXPIRED') && outcomeOf(error) === 'refused') this.forget(lease);
  }

  async #enqueue(entry: NewEntry, before: Promise<void> | undefined, options: TimedCall): Promise<Entry> {
    const time = new CallTime(this.#clock, options, ExchangeError);
    if (before === undefined) return this.#create(entry, time);
    await this.#waitFor(before, options);
    const settling = this.#context.leases.settle(entry.lease, time.left);
    if (settling !== undefined) await settling;
    const session = this.#context.leases.session(entry.lease);
    const existing = await this.#find(session, entry.prefix, nameBeforeCounter(entry.name, entry.lease), time);
    return existing ?? this.#create(entry, time);
  }

  async #waitFor(before: Promise<void>, options: TimedCall): Promise<void> {
    const attempt = new Attempt(this.#clock, options, ExchangeError);
    try {
      await attempt.wait(before);
    } finally {
      attempt.end();
    }
  }

  #callsOf(lease: LeaseId): Map<string, LatestCall> {
    const known = this.#calls.get(lease);
    if (known !== undefined) return known;
    const fresh = new Map<string, LatestCall>();
    this.#calls.set(lease, fresh);
    return fresh;
  }

  /**
   * Searches for an entry that an earlier call may have created. Servers take a session's requests
   * from one connection at a time. So when a barrier on the session is answered, each earlier
   * request has been applied or never will be.
   */
  async #find(session: ZooKeeperSession, prefix: Key, beforeCounter: string, time: CallTime): Promise<Entry | undefined> {
    const { namespace } = this.#context;
    const parent = namespace.path(prefix);
    const options = time.left;
    const [, listed] = await Promise.all([
      barrier(session, options),
      unlessAbsent(session.request(getChildren, { path: parent }, options)),
    ]);
    const name = listed?.answer.children.find((child) => isEntryNode(child, beforeCounter));
    if (name === undefined) return undefined;
    const path = `${parent}/${name}`;
    const data = await readNode(session, path, time.left);
    return data === undefined ? undefined : namespace.entry(path, data);
  }

  async #create(entry: NewEntry, time: CallTime): Promise<Entry> {
    const { namespace, parents, leases, acls } = this.#context;
    const { prefix, name, value, lease } = entry;
    const path = `${namespace.path(prefix)}/${nameBeforeCounter(name, lease)}`;
    const settling = leases.settle(lease, time.left);
    if (settling !== undefined) await settling;
    const session = leases.session(lease);
    try {
      const { answer } = await session.request(create, { path, data: value, acls, mode: 'ephemeralSequential' }, time.left);
      return entryOf(namespace, answer, value);
    } catch (error) {
      if (!isCode(error, 'NONODE')) throw error;
    }
    await parents.create([path], time);
    return this.#create(entry, time);
  }
}

function entryOf(namespace: Namespace, { path, stat }: CreateAnswer, data: Uint8Array): Entry {
  const entry = namespace.entry(path, { data, stat });
  if (entry === undefined) throw new TypeError('a node that was created with data is an entry');
  return entry;
}
