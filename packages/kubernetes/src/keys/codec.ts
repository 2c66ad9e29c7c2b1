/**
 * Keys and entries as text in the `data` of one object. One entry of `data` is one key, so that
 * `kubectl get configmap -o yaml` can be read.
 */

import type { Key, LeaseId, Revision } from '@incumbent/core';

/** One key as the object has it. */
export interface StoredEntry {
  readonly value: Uint8Array;
  /**
   * The number of the change that created the key, and of the one that changed it last. 0 for text
   * that no store has written.
   */
  readonly created: number;
  readonly modified: number;
  readonly lease: LeaseId | undefined;
}

/** The number of the last change. */
const COUNT = '_count';
/** Random, chosen when the object is created, so that another object's revisions differ. */
const EPOCH = '_epoch';

/** The longest name that Kubernetes allows in `data`. */
export const MAX_DATA_NAME = 253;

const WRITE: Readonly<Record<string, string>> = { '/': '__', '~': '_t', _: '_u' };
const READ: Readonly<Record<string, string>> = { __: '/', _t: '~', _u: '_', _d: '.' };
/** `_d` is the first of two dots at the beginning of a name, or the whole name. */
const ESCAPES = /^_d(?=\.|$)|_[_tu]/g;

/** `elections/a/leader` as `elections__a__leader`. No key becomes `_count` or `_epoch`. */
export function dataName(key: Key): string {
  const escaped = key.replaceAll(/[/~_]/g, (character) => WRITE[character] ?? '');
  // A ConfigMap allows neither the name `.` nor names that begin with two dots.
  return escaped.replace(/^\.(?=\.|$)/, '_d');
}

/** Undefined for a name that no key has. */
function keyOf(name: string): Key | undefined {
  if (name.replaceAll(ESCAPES, '').includes('_')) return undefined;
  return name.replaceAll(ESCAPES, (escape) => READ[escape] ?? '');
}

const ENTRY = /^(\d+) (\d+) (text|base64)(?: (\S+))?\n([\s\S]*)$/;

export function writeEntry({ value, created, modified, lease }: StoredEntry): string {
  const plain = plainText(value);
  const form = plain === undefined ? 'base64' : 'text';
  const bound = lease === undefined ? '' : ` ${lease}`;
  return `${created} ${modified} ${form}${bound}\n${plain ?? Buffer.from(value).toString('base64')}`;
}

/**
 * Text that no store has written, such as after an edit by hand, is a value as a whole. If the key
 * counted as absent instead, the terms of an election would begin again at 1.
 */
function readEntry(text: string): StoredEntry {
  const [, created, modified, form, lease, value = ''] = ENTRY.exec(text) ?? [];
  if (created === undefined || modified === undefined)
    return { value: new TextEncoder().encode(text), created: 0, modified: 0, lease: undefined };
  return {
    value: form === 'text' ? new TextEncoder().encode(value) : new Uint8Array(Buffer.from(value, 'base64')),
    created: Number(created),
    modified: Number(modified),
    lease,
  };
}

/** Undefined for bytes that text cannot carry. */
function plainText(value: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value);
  } catch {
    return undefined;
  }
}

/** The keys of an object's `data`. */
export interface Keys {
  readonly epoch: string;
  readonly count: number;
  readonly entries: ReadonlyMap<Key, StoredEntry>;
}

/** One field of `data`. */
interface Field {
  readonly text: string;
  /** Undefined for a name that no key has. */
  readonly key: Key | undefined;
  readonly entry: StoredEntry;
}

function readField(name: string, text: string): Field {
  const key = name === COUNT || name === EPOCH ? undefined : keyOf(name);
  return { text, key, entry: readEntry(text) };
}

/**
 * Reads one state of an object after the other. Most fields of a state are those of the state
 * before, and are not decoded again.
 */
export class KeysReader {
  #fields: ReadonlyMap<string, Field> = new Map();

  /** Skips names that no key has. */
  read(data: Readonly<Record<string, string>>): Keys {
    const read = new Map<string, Field>();
    const entries = new Map<Key, StoredEntry>();
    let count = Number(data[COUNT] ?? 0) || 0;
    for (const [name, text] of Object.entries(data)) {
      const before = this.#fields.get(name);
      const field = before?.text === text ? before : readField(name, text);
      read.set(name, field);
      const { key, entry } = field;
      if (key === undefined) continue;
      entries.set(key, entry);
      count = Math.max(count, entry.modified);
    }
    this.#fields = read;
    return { epoch: data[EPOCH] ?? '', count, entries };
  }
}

/** The parts of `data` that are not keys. */
export function writeCount(epoch: string, count: number): Readonly<Record<string, string>> {
  return { [COUNT]: String(count), [EPOCH]: epoch };
}

export function revisionOf(epoch: string, { modified }: Pick<StoredEntry, 'modified'>): Revision {
  return `${modified}.${epoch}`;
}
