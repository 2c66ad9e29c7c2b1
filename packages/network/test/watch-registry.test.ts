import { expect, it } from 'vitest';

import { WatchRegistry } from '@incumbent/network';

const onKey = { name: 'a/b', query: { key: 'a/b' } };
const onPrefix = { name: 'a/*', query: { prefix: 'a' } };
const onDeeper = { name: 'a/b/*', query: { prefix: 'a/b' } };

/** The registry under test, and the names of the watches that a change of a key concerns. */
function open() {
  const watches = new WatchRegistry<typeof onKey | typeof onPrefix>();
  for (const watch of [onKey, onPrefix, onDeeper]) watches.add(watch);
  const of = (key: string): readonly string[] => watches.watchesOf(key).map(({ name }) => name);
  return { watches, of };
}

it('a change concerns the watches of the key, and of every prefix above it', () => {
  const { of } = open();
  expect(of('a/b')).toEqual(['a/b', 'a/*']);
  expect(of('a/b/c')).toEqual(['a/*', 'a/b/*']);
  expect(of('a')).toEqual([]);
  expect(of('ab/c')).toEqual([]);
});

it('a watch that was deleted is concerned by nothing', () => {
  const { watches, of } = open();
  watches.delete(onPrefix);
  expect(of('a/b')).toEqual(['a/b']);
  watches.delete(onKey);
  expect(of('a/b')).toEqual([]);
  expect(watches.size).toBe(1);
});

it('two watches of one key are two watches', () => {
  const { watches, of } = open();
  const another = { name: 'another', query: { key: 'a/b' } };
  watches.add(another);
  watches.delete(onKey);
  expect(of('a/b')).toEqual(['another', 'a/*']);
});

it('watches may be deleted while all are told something', () => {
  const { watches } = open();
  const told: string[] = [];
  for (const watch of watches) {
    watches.delete(watch);
    told.push(watch.name);
  }
  expect([told, watches.size]).toEqual([['a/b', 'a/*', 'a/b/*'], 0]);
});
