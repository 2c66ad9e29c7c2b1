/** What stands under a prefix. */

import type { Entry, Key, ListOptions } from '@incumbent/core';
import { someOf, withoutValue, type Part } from '@incumbent/core/adapter';
import type { CallTime } from '@incumbent/network';

import { placeIn, type Namespace } from './namespace.ts';
import type { Reads } from './reads.ts';

/** An entry, and what it is sorted by: the transaction that made it where that is known, else its place in the queue. */
interface Row {
  readonly entry: Entry;
  readonly since: bigint;
}

interface PlacedChild {
  readonly path: string;
  readonly place: number;
}

/** A queue's entries are told by their names alone, which is one request; other keys have to be read. */
export async function list(
  reads: Reads,
  namespace: Namespace,
  prefix: Key,
  options: Omit<ListOptions, 'timeoutMs' | 'signal'>,
  time: CallTime,
): Promise<readonly Entry[]> {
  const { values = true, before, first, last } = options;
  const { session } = reads;
  const parent = namespace.path(prefix);
  const told = (await reads.children(parent, time.left)) ?? [];
  const listing = { reads: reads.further, namespace, parent, part: { before, first, last }, time };
  const rows = values ? await readSteadily(listing, told) : await readNames(listing, told);
  if (session === undefined || reads.session !== session) return list(reads, namespace, prefix, options, time);
  const entries = rows.toSorted(bySince).map(({ entry }) => (values ? entry : withoutValue(entry)));
  const earlier = before === undefined ? entries : entries.filter(({ order }) => order < before.order);
  return someOf(earlier, options);
}

interface Wanted extends Part {
  readonly before: Entry | undefined;
}

interface Listing {
  readonly part: Wanted;
  readonly reads: Reads;
  readonly namespace: Namespace;
  readonly parent: string;
  readonly time: CallTime;
}

/** Nodes come and go between a listing and the reading of what it told: both are read again, at one moment, until they agree. */
async function readSteadily(listing: Listing, told: readonly string[]): Promise<readonly Row[]> {
  const { reads, namespace, parent, part, time } = listing;
  const children = childrenOf(parent, told);
  const { others } = children;
  const queue = wantedOf(children.queue, part).map(({ path }) => path);
  if (others.length === 0 && queue.length === part.first) {
    // Whoever comes now comes last: those that were the first are the first still, unless one of them has gone.
    const first = await readAll(reads, namespace, queue, time);
    return first.length === queue.length ? first : readSteadily(listing, (await reads.children(parent, time.left)) ?? []);
  }
  const options = time.left;
  // The names last: where that takes several requests, all that is read between two equal listings was there all the while.
  const [placed, unplaced, now = []] = await Promise.all([
    readAll(reads, namespace, queue, time),
    readTree(reads, namespace, others, time),
    reads.children(parent, options),
  ]);
  if (sameNames(told, now)) return [...placed, ...unplaced];
  return readSteadily(listing, now);
}

async function readNames({ reads, namespace, parent, part, time }: Listing, told: readonly string[]): Promise<readonly Row[]> {
  const { queue, others } = childrenOf(parent, told);
  const placed = wantedOf(queue, part).map(({ path, place }) => ({ entry: namespace.bareEntry(path), since: BigInt(place) }));
  return [...placed, ...(await readTree(reads, namespace, others, time))];
}

function sameNames(some: readonly string[], others: readonly string[]): boolean {
  const names = new Set(some);
  return names.size === others.length && others.every((name) => names.has(name));
}

interface Children {
  /** Those with a place in the queue, in its order. */
  readonly queue: readonly PlacedChild[];
  readonly others: readonly string[];
}

function childrenOf(parent: string, names: readonly string[]): Children {
  const queue: PlacedChild[] = [];
  const others: string[] = [];
  for (const name of names) {
    const [path, place] = [`${parent}/${name}`, placeIn(name)];
    if (place === undefined) others.push(path);
    else queue.push({ path, place });
  }
  return { queue: queue.toSorted(byPlace), others };
}

function wantedOf(queue: readonly PlacedChild[], { before, ...part }: Wanted): readonly PlacedChild[] {
  const earlier = before === undefined ? queue : queue.filter(({ place }) => place < before.order);
  return someOf(earlier, part);
}

async function readAll(reads: Reads, namespace: Namespace, paths: readonly string[], time: CallTime): Promise<readonly Row[]> {
  const found = await Promise.all(paths.map(async (path) => ({ path, data: await reads.data(path, time.left) })));
  return found.flatMap(({ path, data }) => {
    const entry = data === undefined ? undefined : namespace.entry(path, data);
    return data === undefined || entry === undefined ? [] : [{ entry, since: data.stat.czxid }];
  });
}

/** Nodes, and what stands under them. */
async function readTree(reads: Reads, namespace: Namespace, paths: readonly string[], time: CallTime): Promise<readonly Row[]> {
  if (paths.length === 0) return [];
  const rows = await readAll(reads, namespace, paths, time);
  const leaves = new Set(rows.map(({ entry }) => namespace.path(entry.key)));
  const inner = paths.filter((path) => !leaves.has(path));
  const below = await Promise.all(
    inner.map(async (path) => ((await reads.children(path, time.left)) ?? []).map((name) => `${path}/${name}`)),
  );
  return [...rows, ...(await readTree(reads, namespace, below.flat(), time))];
}

function byPlace(a: PlacedChild, b: PlacedChild): number {
  return a.place - b.place;
}

function bySince(a: Row, b: Row): number {
  return a.since < b.since ? -1 : Number(a.since > b.since);
}
