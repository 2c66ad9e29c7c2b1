/** What stands under a prefix. */

import type { Entry, Key, ListOptions } from '@incumbent/core';
import { someOf, withoutValue, type Part } from '@incumbent/core/adapter';
import type { CallTime } from '@incumbent/network';

import { placeIn, type Namespace } from './namespace.ts';
import type { Reads } from './client/read-batcher.ts';

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
  const rows = values ? await readSteadily(listing, new Map([[parent, told]])) : await readNames(listing, told);
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

/** The nodes that have children, the prefix's own included, each with the names of its children. */
type Shape = ReadonlyMap<string, readonly string[]>;

/**
 * Nodes come and go between a listing and the reading of what it told. So the names at every depth
 * and the data are read again together, at one moment, until the names are those known before.
 */
async function readSteadily(listing: Listing, known: Shape): Promise<readonly Row[]> {
  const { reads, namespace, parent, part, time } = listing;
  const { queue, others } = childrenOf(parent, known.get(parent) ?? []);
  const wanted = wantedOf(queue, part).map(({ path }) => path);
  if (others.length === 0 && wanted.length === part.first) {
    // Whoever comes now comes last: those that were the first are the first still, unless one of them has gone.
    const first = await readAll(reads, namespace, wanted, time);
    return first.length === wanted.length ? first : readSteadily(listing, new Map([[parent, await namesUnder(listing, parent)]]));
  }
  const below = [...known].flatMap(([path, names]) => (path === parent ? [] : pathsOf(path, names)));
  const keys = [...wanted, ...others, ...below].filter((path) => !known.has(path));
  // The names last: where that takes several requests, all that is read between two equal listings was there all the while.
  const [rows, now] = await Promise.all([readAll(reads, namespace, keys, time), namesNow(listing, known)]);
  const told = new Set(rows.map(({ entry }) => namespace.path(entry.key)));
  // These have children of their own, or have gone.
  const open = keys.filter((path) => !told.has(path));
  if (open.length === 0 && [...known].every(([path, names]) => sameNames(names, now.get(path) ?? []))) return rows;
  return readSteadily(listing, shapeOf(parent, new Map([...now, ...open.map((path) => [path, []] as const)])));
}

/** The part of what is known that still hangs together with this node. */
function shapeOf(path: string, known: Shape): Shape {
  const names = known.get(path) ?? [];
  const inner = pathsOf(path, names).filter((child) => known.has(child));
  return new Map([[path, names], ...inner.flatMap((child) => [...shapeOf(child, known)])]);
}

async function namesNow(listing: Listing, known: Shape): Promise<Shape> {
  return new Map(await Promise.all([...known.keys()].map(async (path) => [path, await namesUnder(listing, path)] as const)));
}

async function namesUnder({ reads, time }: Listing, path: string): Promise<readonly string[]> {
  return (await reads.children(path, time.left)) ?? [];
}

function pathsOf(parent: string, names: readonly string[]): readonly string[] {
  return names.map((name) => `${parent}/${name}`);
}

/**
 * Lists names without values. A queue is one request, and one moment. Other keys are read level by
 * level, and a key that comes or goes meanwhile may or may not be listed: operators list all
 * elections so, and a busy store must not keep that from an answer.
 */
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
  const below = await Promise.all(inner.map(async (path) => pathsOf(path, (await reads.children(path, time.left)) ?? [])));
  return [...rows, ...(await readTree(reads, namespace, below.flat(), time))];
}

function byPlace(a: PlacedChild, b: PlacedChild): number {
  return a.place - b.place;
}

function bySince(a: Row, b: Row): number {
  return a.since < b.since ? -1 : Number(a.since > b.since);
}
