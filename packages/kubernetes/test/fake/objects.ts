/**
 * Objects as a Kubernetes API server keeps them: each change gets the next resourceVersion, names
 * it in its conditions, and is told to the watches.
 */

import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';

import { fields, optionalFields, textFields, type Fields } from '../../src/objects/json.ts';

/** The status of an answer, and its body. */
export interface Answer {
  readonly status: number;
  readonly body: Fields;
}

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

export interface ObjectEvent {
  readonly type: EventType;
  readonly object: Fields;
}

interface Change extends ObjectEvent {
  readonly version: number;
  readonly collection: string;
}

/** As the built-in type: exactly six digits of the second's fraction. */
const MICRO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

export class Objects {
  readonly #objects = new Map<string, Fields>();
  readonly #changes: Change[] = [];
  readonly #listeners = new Set<(change: Change) => void>();
  #version = 100;
  /** Watches from an earlier version get 410. */
  #compacted = 0;

  get(path: string): Answer {
    const object = this.#objects.get(path);
    return object === undefined ? notFound(path) : { status: 200, body: object };
  }

  list(collection: string, matches: (object: Fields) => boolean): Answer {
    return {
      status: 200,
      body: { kind: 'List', metadata: { resourceVersion: String(this.#version) }, items: this.#in(collection, matches) },
    };
  }

  create(collection: string, body: Fields): Answer {
    const metadata = fields(body['metadata']);
    const path = `${collection}/${String(metadata['name'])}`;
    if (this.#objects.has(path)) return failure(409, 'AlreadyExists', `${path} already exists`);
    const wrong = invalid(body);
    if (wrong !== undefined) return wrong;
    const object = { ...body, metadata: { ...metadata, namespace: 'default', uid: randomUUID(), resourceVersion: this.#next() } };
    this.#put(collection, path, 'ADDED', object);
    return { status: 201, body: object };
  }

  /** Changes an object, if the uid and the version of the body are still its own. */
  replace(collection: string, path: string, body: Fields): Answer {
    const current = this.#objects.get(path);
    if (current === undefined) return notFound(path);
    const conflict = this.#conflict(current, textFields(fields(body['metadata'])));
    const wrong = conflict ?? invalid(body);
    if (wrong !== undefined) return wrong;
    // An empty entry removes the managed fields, and this server keeps none.
    const { resourceVersion: _, managedFields: __, ...metadata } = fields(body['metadata']);
    const { resourceVersion: before, ...had } = fields(current['metadata']);
    // An update that changes nothing is no change.
    if (isDeepStrictEqual({ ...current, metadata: had }, { ...body, metadata: { ...had, ...metadata } }))
      return { status: 200, body: current };
    const object = { ...body, metadata: { ...had, ...metadata, resourceVersion: this.#next() } };
    this.#put(collection, path, 'MODIFIED', object);
    return { status: 200, body: object };
  }

  /** Changes an object by a merge patch, if the version in it is still the object's own. */
  patch(collection: string, path: string, patch: Fields): Answer {
    const current = this.#objects.get(path);
    return current === undefined ? notFound(path) : this.replace(collection, path, merged(current, patch));
  }

  delete(collection: string, path: string, options: Fields): Answer {
    const current = this.#objects.get(path);
    if (current === undefined) return notFound(path);
    const conflict = this.#conflict(current, textFields(optionalFields(options['preconditions'])));
    if (conflict !== undefined) return conflict;
    this.#objects.delete(path);
    const last = { ...current, metadata: { ...fields(current['metadata']), resourceVersion: this.#next() } };
    this.#tell(collection, 'DELETED', last);
    return { status: 200, body: { kind: 'Status', status: 'Success' } };
  }

  /**
   * Calls `onEvent` with each change after the version, or with what there is and each change from
   * now on. Returns how to stop. An `ERROR` if the version is too old.
   */
  watch(collection: string, version: number | undefined, onEvent: (event: ObjectEvent) => void): (() => void) | Answer {
    if (version !== undefined && version < this.#compacted) return failure(410, 'Expired', `too old resource version: ${version}`);
    const missed =
      version === undefined
        ? this.#in(collection, () => true).map((object) => ({ type: 'ADDED' as const, object }))
        : this.#changes.filter((change) => change.version > version && change.collection === collection);
    for (const event of missed) onEvent(event);
    const listener = (change: Change): void => {
      if (change.collection === collection) onEvent(change);
    };
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Forgets the changes so far, as a compaction and a restart do. */
  compact(): void {
    this.#compacted = this.#version;
    this.#changes.length = 0;
  }

  #in(collection: string, matches: (object: Fields) => boolean): readonly Fields[] {
    return [...this.#objects].flatMap(([path, object]) => (path.startsWith(`${collection}/`) && matches(object) ? [object] : []));
  }

  #conflict(current: Fields, { uid, resourceVersion }: Readonly<Record<string, string>>): Answer | undefined {
    const has = textFields(fields(current['metadata']));
    if ((uid ?? has['uid']) === has['uid'] && (resourceVersion ?? has['resourceVersion']) === has['resourceVersion']) return undefined;
    return failure(409, 'Conflict', 'the object has been modified; please apply your changes to the latest version and try again');
  }

  #put(collection: string, path: string, type: EventType, object: Fields): void {
    this.#objects.set(path, object);
    this.#tell(collection, type, object);
  }

  #tell(collection: string, type: EventType, object: Fields): void {
    const change = { type, object, collection, version: this.#version };
    this.#changes.push(change);
    for (const listener of this.#listeners) listener(change);
  }

  #next(): string {
    this.#version += 1;
    return String(this.#version);
  }
}

export function failure(code: number, reason: string, message: string): Answer {
  return { status: code, body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message, code } };
}

/** RFC 7386: null removes a field, an object changes fields, anything else replaces the value. */
function merged(target: Fields, patch: Fields): Fields {
  const changed = Object.entries(patch).map(([name, value]) => {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return [name, isObject ? merged(optionalFields(target[name]), fields(value)) : value] as const;
  });
  return Object.fromEntries(Object.entries({ ...target, ...Object.fromEntries(changed) }).filter(([, value]) => value !== null));
}

function notFound(path: string): Answer {
  return failure(404, 'NotFound', `${path} not found`);
}

function invalid({ kind, spec }: Fields): Answer | undefined {
  if (kind !== 'Lease') return undefined;
  const { acquireTime, renewTime } = textFields(optionalFields(spec));
  const isValid = [acquireTime, renewTime].every((time) => time === undefined || MICRO_TIME.test(time));
  return isValid ? undefined : failure(422, 'Invalid', 'spec.renewTime: Invalid value');
}
