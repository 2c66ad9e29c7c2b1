/** What scripts tell of what they have changed: see `scripts/prelude.ts`. */

import type { Key } from '@incumbent/core';

import { malformed, ROW_WORDS, rowIn, textOf, type Row } from '../namespace.ts';

export type Change =
  | { readonly kind: 'gone'; readonly key: Key }
  /** What it has become. */
  | { readonly kind: 'put'; readonly key: Key; readonly row: Row }
  /** It has become something that is too long to be told. */
  | { readonly kind: 'changed'; readonly key: Key };

/** Throws an `ExchangeError` for what no script tells. */
export function readChanges(words: readonly Uint8Array[]): readonly Change[] {
  const changes: Change[] = [];
  for (let at = 0; at < words.length;) {
    const kind = textOf(words[at]);
    const key = textOf(words[at + 1]);
    if (kind === 'p') {
      changes.push({ kind: 'put', key, row: rowIn(words.slice(at + 1, at + 1 + ROW_WORDS)) });
      at += 1 + ROW_WORDS;
    } else if (kind === 'd' || kind === 'u') {
      changes.push({ kind: kind === 'd' ? 'gone' : 'changed', key });
      at += 2;
    } else throw malformed();
  }
  return changes;
}

const COLON = 58;

/** Throws an `ExchangeError` for what is not made of words. */
export function wordsIn(message: Uint8Array): readonly Uint8Array[] {
  const words: Uint8Array[] = [];
  for (let at = 0; at < message.length;) {
    const colon = message.indexOf(COLON, at);
    const length = Number(textOf(message.subarray(at, Math.max(colon, at))));
    if (colon <= at || !Number.isSafeInteger(length) || length < 0 || colon + 1 + length > message.length) throw malformed();
    words.push(message.slice(colon + 1, colon + 1 + length));
    at = colon + 1 + length;
  }
  return words;
}
