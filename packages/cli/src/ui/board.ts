/**
 * The state of the page: one set of documents for all viewers. A change gives a document the next
 * version, so a viewer that comes back with the last version that it has seen gets only what has
 * changed since. Each document is converted to JSON once, whatever the number of viewers.
 */

import type { Cancel } from '@incumbent/core';

import { toJson } from '../common/json.ts';
import type { DocumentKey, Documents } from './documents.ts';

/** How many deletions are remembered for viewers that come back. */
const MAX_DELETED = 1_000;

interface Version {
  readonly version: number;
  /** Undefined if the document is deleted. */
  readonly json: string | undefined;
}

type KindOf<K extends DocumentKey> = K extends `${infer Kind extends keyof Documents}/${string}` ? Kind : K & keyof Documents;

export class Board {
  /**
   * Different for each process, so that versions of another one are not taken for those of this
   * one.
   */
  readonly epoch: string;
  /** By version: a document that changes moves to the end. */
  readonly #documents = new Map<DocumentKey, Version>();
  readonly #listeners = new Set<(key: DocumentKey) => void>();
  readonly #deleted: DocumentKey[] = [];
  #version = 0;
  /** Viewers that have seen only older versions may have missed a deletion that is forgotten. */
  #forgotten = 0;

  constructor(epoch: string) {
    this.epoch = epoch;
  }

  /** The version of the latest change. */
  get version(): number {
    return this.#version;
  }

  /** Does nothing if the document is the same as before. */
  set<K extends DocumentKey>(key: K, document: Documents[KindOf<K>]): void {
    const json = toJson(document);
    if (this.#documents.get(key)?.json !== json) this.#put(key, json);
  }

  delete(key: DocumentKey): void {
    if (this.#documents.get(key)?.json === undefined) return;
    this.#put(key, undefined);
    this.#deleted.push(key);
    if (this.#deleted.length > MAX_DELETED) this.#forget(this.#deleted.shift());
  }

  /** The JSON of a document. Undefined if there is none. */
  json(key: DocumentKey): string | undefined {
    return this.#documents.get(key)?.json;
  }

  /** Whether a viewer that has seen this version can go on from there. */
  canResume(epoch: string, version: number): boolean {
    return epoch === this.epoch && version >= this.#forgotten && version <= this.#version;
  }

  /**
   * The keys of the documents that have changed after a version; those of all documents after 0.
   */
  changedAfter(version: number): readonly DocumentKey[] {
    const changed: DocumentKey[] = [];
    for (const [key, document] of this.#documents)
      if (document.version > version && (version > 0 || document.json !== undefined)) changed.push(key);
    return changed;
  }

  /** Calls the listener with the key of each document that changes from now on. */
  subscribe(listener: (key: DocumentKey) => void): Cancel {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #put(key: DocumentKey, json: string | undefined): void {
    this.#version += 1;
    this.#documents.delete(key);
    this.#documents.set(key, { version: this.#version, json });
    for (const listener of this.#listeners) listener(key);
  }

  #forget(key: DocumentKey | undefined): void {
    const document = key === undefined ? undefined : this.#documents.get(key);
    // The document may have been created again.
    if (key === undefined || document === undefined || document.json !== undefined) return;
    this.#documents.delete(key);
    this.#forgotten = Math.max(this.#forgotten, document.version);
  }
}
