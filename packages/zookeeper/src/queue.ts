/** Queue entries: sequential nodes of a session. Their names say whose they are, so that one whose making is in doubt is found again. */

import type { CallOptions, Clock, Entry, Key, LeaseId } from '@incumbent/core';
import { isIncumbentError, outcomeOf } from '@incumbent/core/adapter';
import { Attempt, CallTime } from '@incumbent/network';

import { barrier } from './client/calls.ts';
import { unplacedName, type Namespace } from './namespace.ts';
import type { SwapContext } from './transactions.ts';
import { callOver, isCode } from './connection/failure.ts';
import { create, getChildren, getData, type CreateAnswer } from './protocol/nodes.ts';
import type { Session } from './client/session.ts';

interface Place {
  readonly prefix: Key;
  readonly name: string;
  readonly value: Uint8Array;
  readonly lease: LeaseId;
}

export class Queue {
  readonly #context: SwapContext;
  readonly #clock: Clock;
  /** The last time that each name was asked for: such an entry may be there. By live lease. */
  readonly #asked = new Map<LeaseId, Map<string, Promise<unknown>>>();

  constructor(context: SwapContext, clock: Clock) {
    this.#context = context;
    this.#clock = clock;
  }

  /** One at a time for each name. */
  async enqueue(place: Place, options: CallOptions): Promise<Entry> {
    const { prefix, name, lease } = place;
    const asked = this.#namesOf(lease);
    const full = `${prefix}/${name}`;
    const before = asked.get(full);
    const made = this.#enqueue(place, before, options);
    // Of what is over nothing is kept but that.
    asked.set(
      full,
      Promise.allSettled([before, made]).then(() => {}),
    );
    made.catch((error: unknown) => this.#forgetIfGone(lease, error));
    return made;
  }

  /** Of a lease that is over nothing is asked any more. */
  forget(lease: LeaseId): void {
    this.#asked.delete(lease);
  }

  #forgetIfGone(lease: LeaseId, error: unknown): void {
    if (isIncumbentError(error, 'LEASE_EXPIRED') && outcomeOf(error) === 'refused') this.forget(lease);
  }

  async #enqueue(place: Place, before: Promise<unknown> | undefined, options: CallOptions): Promise<Entry> {
    const time = new CallTime(this.#clock, options, callOver);
    if (before === undefined) return this.#create(place, time);
    await this.#waitFor(before, options);
    const session = this.#context.leases.session(place.lease);
    const there = await this.#find(session, place.prefix, unplacedName(place.name, place.lease), time);
    return there ?? this.#create(place, time);
  }

  async #waitFor(before: Promise<unknown>, options: CallOptions): Promise<void> {
    const attempt = new Attempt(this.#clock, options, callOver);
    try {
      await attempt.wait(before);
    } finally {
      attempt.end();
    }
  }

  #namesOf(lease: LeaseId): Map<string, Promise<unknown>> {
    const known = this.#asked.get(lease);
    if (known !== undefined) return known;
    const fresh = new Map<string, Promise<unknown>>();
    this.#asked.set(lease, fresh);
    return fresh;
  }

  /** What was asked for on this session before has been done or never will be, once a barrier on it is answered: servers take it from one connection at a time. */
  async #find(session: Session, prefix: Key, unplaced: string, time: CallTime): Promise<Entry | undefined> {
    const { namespace } = this.#context;
    const parent = namespace.path(prefix);
    const options = time.left;
    try {
      const [, { answer }] = await Promise.all([barrier(session, options), session.request(getChildren, { path: parent }, options)]);
      const name = answer.children.find((child) => isPlaced(child, unplaced));
      if (name === undefined) return undefined;
      const path = `${parent}/${name}`;
      return namespace.entry(path, (await session.request(getData, { path }, time.left)).answer);
    } catch (error) {
      if (isCode(error, 'NONODE')) return undefined;
      throw error;
    }
  }

  async #create(place: Place, time: CallTime): Promise<Entry> {
    const { namespace, parents, leases, acls } = this.#context;
    const { prefix, name, value, lease } = place;
    const path = `${namespace.path(prefix)}/${unplacedName(name, lease)}`;
    const settling = leases.settle(lease, time.left);
    if (settling !== undefined) await settling;
    const session = leases.session(lease);
    try {
      const { answer } = await session.request(create, { path, data: value, acls, mode: 'ephemeralSequential' }, time.left);
      return placedAt(namespace, answer, value);
    } catch (error) {
      if (!isCode(error, 'NONODE')) throw error;
    }
    await parents.make(path, time);
    return this.#create(place, time);
  }
}

function placedAt(namespace: Namespace, { path, stat }: CreateAnswer, data: Uint8Array): Entry {
  const entry = namespace.entry(path, { data, stat });
  if (entry === undefined) throw new TypeError('an entry that was made is one');
  return entry;
}

function isPlaced(child: string, unplaced: string): boolean {
  return child.startsWith(unplaced) && /^-?\d+$/.test(child.slice(unplaced.length));
}
