/** One state of the object that holds the keys, and the changes that are applied to it. */

import { randomBytes } from 'node:crypto';

import type { Entry, Key, LeaseId } from '@incumbent/core';
import { nameOfKey } from '@incumbent/core/adapter';

import { optionalFields, textFields, type Fields } from '../objects/json.ts';
import { identityOf, metadataForChange, type Identity } from '../objects/metadata.ts';
import { dataName, KeysReader, revisionOf, writeCount, writeEntry, type Keys, type StoredEntry } from './codec.ts';

type Data = Readonly<Record<string, string>>;

/** How far a counter has come. */
export type Progress = Pick<Snapshot, 'counter' | 'count'>;

export class Snapshot {
  /** Undefined if the object does not exist. */
  readonly identity: Identity | undefined;
  readonly #object: Fields;
  readonly #data: Data;
  readonly #reader: KeysReader;
  #keys: Keys | undefined;

  private constructor(identity: Identity | undefined, object: Fields, reader: KeysReader) {
    this.identity = identity;
    this.#object = object;
    this.#reader = reader;
    this.#data = textFields(optionalFields(object['data']));
  }

  /** There is no object, and so no key. */
  static absent(): Snapshot {
    return new Snapshot(undefined, {}, new KeysReader());
  }

  /** `reader`: has read earlier states of the same object. */
  static of(object: Fields, reader: KeysReader = new KeysReader()): Snapshot {
    return new Snapshot(identityOf(object), object, reader);
  }

  get epoch(): string {
    return this.#read.epoch;
  }

  /** Rises with every change of a key. */
  get count(): number {
    return this.#read.count;
  }

  /**
   * Identifies the counter of `count`. An object that is made from a backup of another object
   * continues the counter of that object. Undefined if the object does not exist.
   */
  get counter(): string | undefined {
    return this.epoch === '' ? this.identity?.uid : this.epoch;
  }

  /** The number of keys. */
  get size(): number {
    return this.#read.entries.size;
  }

  get(key: Key): StoredEntry | undefined {
    return this.#read.entries.get(key);
  }

  entry(key: Key): Entry | undefined {
    const stored = this.get(key);
    return stored === undefined ? undefined : entryOf(this.epoch, key, stored);
  }

  /**
   * The keys under `prefix/`, in the order of their creation. Skips text that no store has written:
   * it would be the first in a queue, and no lease would ever end it.
   */
  under(prefix: Key): readonly Entry[] {
    const found = [...this.#read.entries].filter(([key, { created }]) => created > 0 && key.startsWith(`${prefix}/`));
    const ordered = found.toSorted(([a, one], [b, other]) => one.created - other.created || (a < b ? -1 : 1));
    return ordered.map(([key, stored]) => entryOf(this.epoch, key, stored));
  }

  /** Every lease that a key is bound to. */
  leases(): ReadonlySet<LeaseId> {
    return new Set([...this.#read.entries.values()].flatMap(({ lease }) => (lease === undefined ? [] : [lease])));
  }

  keysOf(lease: LeaseId): readonly Key[] {
    return [...this.#read.entries].flatMap(([key, entry]) => (entry.lease === lease ? [key] : []));
  }

  /** Whether both are one state of one object. */
  isSame({ identity }: Snapshot): boolean {
    return identity !== undefined && identity.uid === this.identity?.uid && identity.version === this.identity.version;
  }

  /** False if the other state is certainly a later one by the same counter. */
  isAtLeast(other: Progress): boolean {
    return this.counter === undefined || this.counter !== other.counter || this.count >= other.count;
  }

  /** The object with other keys, as the body of a request. Keeps what others have added to it. */
  objectWith(data: Data): Fields {
    return { ...this.#object, metadata: metadataForChange(this.#object), data };
  }

  get data(): Data {
    return this.#data;
  }

  get #read(): Keys {
    this.#keys ??= this.#reader.read(this.#data);
    return this.#keys;
  }
}

function entryOf(epoch: string, key: Key, stored: StoredEntry): Entry {
  return {
    key,
    name: nameOfKey(key),
    value: new Uint8Array(stored.value),
    revision: revisionOf(epoch, stored),
    order: BigInt(stored.created),
    ...(stored.lease === undefined ? {} : { lease: stored.lease }),
  };
}

/** Changes on top of a snapshot. All that one call changes gets one number. */
export class Draft {
  readonly #base: Snapshot;
  readonly #changed = new Map<Key, StoredEntry | undefined>();
  readonly epoch: string;
  #count: number;

  constructor(base: Snapshot) {
    this.#base = base;
    this.epoch = base.epoch === '' ? randomBytes(4).toString('hex') : base.epoch;
    this.#count = base.count;
  }

  get isChanged(): boolean {
    return this.#changed.size > 0;
  }

  /** Begins the changes of one call, and returns their number. */
  begin(): number {
    this.#count += 1;
    return this.#count;
  }

  get(key: Key): StoredEntry | undefined {
    return this.#changed.has(key) ? this.#changed.get(key) : this.#base.get(key);
  }

  entry(key: Key): Entry | undefined {
    const stored = this.get(key);
    return stored === undefined ? undefined : entryOf(this.epoch, key, stored);
  }

  set(key: Key, entry: StoredEntry): void {
    this.#changed.set(key, entry);
  }

  delete(key: Key): void {
    this.#changed.set(key, undefined);
  }

  /** Deletes the keys that are bound to a lease. Returns whether there were any. */
  deleteBoundTo(lease: LeaseId): boolean {
    const keys = new Set([...this.#base.keysOf(lease), ...this.#changed.keys()]);
    const bound = [...keys].filter((key) => this.get(key)?.lease === lease);
    if (bound.length > 0) this.begin();
    for (const key of bound) this.delete(key);
    return bound.length > 0;
  }

  /** The `data` of the object. */
  data(): Data {
    const data: Record<string, string> = { ...this.#base.data, ...writeCount(this.epoch, this.#count) };
    for (const [key, entry] of this.#changed) {
      if (entry === undefined) delete data[dataName(key)];
      else data[dataName(key)] = writeEntry(entry);
    }
    return data;
  }
}
