/** `read` and `list`. */

import type { Clock, Entry, Key, ListOptions } from '@incumbent/core';
import { partOfList, withoutValue, type ListPart } from '@incumbent/core/adapter';
import { type AttemptOptions, type CallTime, ReadBatcher, type ReadBatch } from '@incumbent/network';

import { barrier, readNode } from './client/calls.ts';
import type { RequestOptions, ZooKeeperSession } from './client/session.ts';
import { answeredWith, ExchangeError, isCode, unlessAbsent } from './errors.ts';
import { orderIn, type Namespace } from './namespace.ts';
import { ABSENT, multiRead, type ReadAnswer, type ReadPart } from './protocol/multi.ts';
import { getChildren, type Data } from './protocol/nodes.ts';

/** The most bytes of one request. Servers accept 1,048,575. */
const REQUEST_BYTES = 500_000;
/** The bytes of one part beside its path. */
const PART_BYTES = 14;

/**
 * The most reads of one request, unless they have to be one moment. The answer has to fit into one
 * record, and each value may have a million bytes.
 */
const MAX_READS = 16;

interface ServerSupport {
  /** False once a server turned out to be older than 3.6. */
  haveMultiRead: boolean;
}

/** What {@link Reads} that need no barrier share with those that they belong to. */
interface SessionConsistency {
  readonly servers: ServerSupport;
  readonly maxReads: number;
}

/**
 * Reads of nodes. ZooKeeper answers a read from the connected server, which may be behind. A `sync`
 * does not help: a leader that was deposed without knowing it answers the `sync` too. So each read
 * follows a **barrier**, a transaction that changes nothing and to which a quorum agrees. On one
 * connection, a read that is sent after a transaction is answered after it. That makes the read
 * linearizable.
 *
 * Reads that start together share one barrier, and up to 16 of them share one request. Reads by
 * {@link sessionConsistent} need no barrier: a session never sees a state older than one that it
 * has seen, on any server.
 */
export class Reads {
  readonly #session: ZooKeeperSession;
  readonly #batcher: ReadBatcher<ReadPart, ReadAnswer>;
  readonly #sessionConsistent: { readonly atOnce: Reads; readonly inParts: Reads } | undefined;
  readonly #servers: ServerSupport;
  readonly #maxReads: number;

  /** `consistency` is for {@link sessionConsistent} and {@link inParts} alone. */
  constructor(session: ZooKeeperSession, clock: Clock, consistency?: SessionConsistency) {
    this.#session = session;
    const { servers, maxReads } = consistency ?? { servers: { haveMultiRead: true }, maxReads: MAX_READS };
    this.#servers = servers;
    this.#maxReads = maxReads;
    const readsOf = (most: number): Reads => new Reads(session, clock, { servers, maxReads: most });
    this.#sessionConsistent = consistency === undefined ? { atOnce: readsOf(Infinity), inParts: readsOf(MAX_READS) } : undefined;
    this.#batcher = new ReadBatcher<ReadPart, ReadAnswer>({
      clock,
      ErrorType: ExchangeError,
      maxReads: Infinity,
      send: (batch) => this.#send(batch),
      isOfOneRead: () => false,
    });
  }

  /** The session that reads. A later session may see an older state. */
  get session(): bigint | undefined {
    return this.#session.identity?.id;
  }

  /**
   * Reads that are no older than what this session has read before. For the further steps of a
   * call. Those that start together are one request if possible, and so one moment. Their answer
   * has to fit into one record, however long it is.
   */
  get sessionConsistent(): Reads {
    return this.#sessionConsistent?.atOnce ?? this;
  }

  /**
   * Like {@link sessionConsistent}, but up to 16 reads share one request, so that any number of
   * values can be read. They are not one moment.
   */
  get inParts(): Reads {
    return this.#sessionConsistent?.inParts ?? this;
  }

  /** Undefined if there is no such node. */
  async data(path: string, options: AttemptOptions): Promise<Data | undefined> {
    const answer = checked(await this.#batcher.read({ data: path }, options));
    return 'data' in answer ? answer.data : undefined;
  }

  /** The names of the node's children, in no order. Undefined if there is no such node. */
  async children(path: string, options: AttemptOptions): Promise<readonly string[] | undefined> {
    const answer = checked(await this.#batcher.read({ children: path }, options));
    return 'children' in answer ? answer.children : undefined;
  }

  async #send({ requests, options, markSent }: ReadBatch<ReadPart>): Promise<readonly ReadAnswer[]> {
    const request = { ...options, onSent: markSent };
    const agreed = this.#sessionConsistent === undefined ? undefined : barrier(this.#session, request);
    // Both are sent before either is answered, which takes one round trip.
    const [answers] = await Promise.all([this.#read(requests, request), agreed]);
    return answers;
  }

  /** One request, or several if one would be too long. They are sent at once, in order. */
  async #read(parts: readonly ReadPart[], options: RequestOptions): Promise<readonly ReadAnswer[]> {
    return (await Promise.all(inRequests(parts, this.#maxReads).map((some) => this.#readSome(some, options)))).flat();
  }

  async #readSome(parts: readonly ReadPart[], options: RequestOptions): Promise<readonly ReadAnswer[]> {
    if (parts.length === 1 || !this.#servers.haveMultiRead) return Promise.all(parts.map((part) => this.#readOne(part, options)));
    try {
      const { answer } = await this.#session.request(multiRead, parts, options);
      if (answer.length === parts.length) return answer;
      throw new ExchangeError({ kind: 'malformed' }, `the server answered ${answer.length} of ${parts.length} reads`);
    } catch (error) {
      // A server before 3.6. It also closes the connection, so the callers have to ask again.
      if (isCode(error, 'UNIMPLEMENTED')) this.#servers.haveMultiRead = false;
      throw error;
    }
  }

  async #readOne(part: ReadPart, options: RequestOptions): Promise<ReadAnswer> {
    if ('data' in part) {
      const data = await readNode(this.#session, part.data, options);
      return data === undefined ? ABSENT : { data };
    }
    const listed = await unlessAbsent(this.#session.request(getChildren, { path: part.children }, options));
    return listed === undefined ? ABSENT : { children: listed.answer.children };
  }
}

function inRequests(parts: readonly ReadPart[], maxReads: number): readonly (readonly ReadPart[])[] {
  const requests: ReadPart[][] = [[]];
  let bytes = 0;
  for (const part of parts) {
    const more = PART_BYTES + Buffer.byteLength('data' in part ? part.data : part.children);
    if (bytes + more > REQUEST_BYTES || requests.at(-1)?.length === maxReads) {
      requests.push([]);
      bytes = 0;
    }
    requests.at(-1)?.push(part);
    bytes += more;
  }
  return requests;
}

/** Throws if a server refused this read. The other reads of the batch are not affected. */
function checked(answer: ReadAnswer): ReadAnswer {
  if ('code' in answer) throw answeredWith(answer.code);
  return answer;
}

/**
 * An entry, and what it is sorted by: the transaction that created it if known, else its order in
 * the queue.
 */
interface Row {
  readonly entry: Entry;
  readonly since: bigint;
}

interface QueueNode {
  readonly path: string;
  readonly order: number;
}

/**
 * The keys under a prefix. For a queue without values, the names of the nodes say everything, which
 * takes one request. Other keys have to be read.
 */
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
  const names = (await reads.children(parent, time.left)) ?? [];
  const listing = { namespace, parent, part: { before, first, last }, time };
  const rows = values
    ? await readSteadily({ ...listing, reads: reads.sessionConsistent }, new Map([[parent, names]]))
    : await readNames({ ...listing, reads: reads.inParts }, names);
  if (session === undefined || reads.session !== session) return list(reads, namespace, prefix, options, time);
  const entries = rows.toSorted(bySince).map(({ entry }) => entry);
  const earlier = before === undefined ? entries : entries.filter(({ order }) => order < before.order);
  return partOfList(earlier, options);
}

interface WantedPart extends ListPart {
  readonly before: Entry | undefined;
}

interface Listing {
  readonly part: WantedPart;
  readonly reads: Reads;
  readonly namespace: Namespace;
  readonly parent: string;
  readonly time: CallTime;
}

/**
 * The nodes that have children, among them the prefix's own, each with the names of its children.
 */
type Tree = ReadonlyMap<string, readonly string[]>;

/**
 * Lists keys with values, as they were at one moment. Nodes come and go between the listing of
 * their names and the reading of their data. So the names at every depth and the data are read
 * again in one request, until the names are the same as before.
 */
async function readSteadily(listing: Listing, known: Tree): Promise<readonly Row[]> {
  const { reads, namespace, parent, part, time } = listing;
  const { queue, others } = childrenOf(parent, known.get(parent) ?? []);
  const wanted = wantedOf(queue, part).map(({ path }) => path);
  if (others.length === 0 && wanted.length === part.first) {
    // New entries come last. So the first entries are still the first, unless one of them has gone.
    const first = await readAll(reads, namespace, wanted, time);
    return first.length === wanted.length ? first : readSteadily(listing, new Map([[parent, await namesUnder(listing, parent)]]));
  }
  const below = [...known].flatMap(([path, names]) => (path === parent ? [] : pathsOf(path, names)));
  const keys = [...wanted, ...others, ...below].filter((path) => !known.has(path));
  // The names come last. If this takes several requests, what is read between two equal listings
  // was there all the time.
  const [rows, now] = await Promise.all([readAll(reads, namespace, keys, time), namesNow(listing, known)]);
  const found = new Set(rows.map(({ entry }) => namespace.path(entry.key)));
  // These have children, or have gone.
  const open = keys.filter((path) => !found.has(path));
  if (open.length === 0 && [...known].every(([path, names]) => sameNames(names, now.get(path) ?? []))) return rows;
  return readSteadily(listing, subtree(parent, new Map([...now, ...open.map((path) => [path, []] as const)])));
}

/** The part of a tree that is connected to this node. */
function subtree(path: string, known: Tree): Tree {
  const names = known.get(path) ?? [];
  const inner = pathsOf(path, names).filter((child) => known.has(child));
  return new Map([[path, names], ...inner.flatMap((child) => [...subtree(child, known)])]);
}

async function namesNow(listing: Listing, known: Tree): Promise<Tree> {
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
 * level, and a key that comes or goes meanwhile may or may not be listed. The list of all elections
 * uses this, and must get an answer on a busy store too, however long its values are.
 */
async function readNames(listing: Listing, names: readonly string[]): Promise<readonly Row[]> {
  const { queue, others } = childrenOf(listing.parent, names);
  return [...bareRows(listing, wantedOf(queue, listing.part)), ...(await readLevels(listing, others))];
}

function bareRows({ namespace }: Listing, queue: readonly QueueNode[]): readonly Row[] {
  return queue.map(({ path, order }) => ({ entry: namespace.bareEntry(path), since: BigInt(order) }));
}

function sameNames(some: readonly string[], others: readonly string[]): boolean {
  const names = new Set(some);
  return names.size === others.length && others.every((name) => names.has(name));
}

interface Children {
  /** The queue entries, in their order. */
  readonly queue: readonly QueueNode[];
  readonly others: readonly string[];
}

function childrenOf(parent: string, names: readonly string[]): Children {
  const queue: QueueNode[] = [];
  const others: string[] = [];
  for (const name of names) {
    const [path, order] = [`${parent}/${name}`, orderIn(name)];
    if (order === undefined) others.push(path);
    else queue.push({ path, order });
  }
  return { queue: queue.toSorted(byOrder), others };
}

function wantedOf(queue: readonly QueueNode[], { before, ...part }: WantedPart): readonly QueueNode[] {
  const earlier = before === undefined ? queue : queue.filter(({ order }) => order < before.order);
  return partOfList(earlier, part);
}

async function readAll(reads: Reads, namespace: Namespace, paths: readonly string[], time: CallTime): Promise<readonly Row[]> {
  const nodes = await Promise.all(paths.map(async (path) => ({ path, data: await reads.data(path, time.left) })));
  return nodes.flatMap(({ path, data }) => {
    const entry = data === undefined ? undefined : namespace.entry(path, data);
    return data === undefined || entry === undefined ? [] : [{ entry, since: data.stat.czxid }];
  });
}

/**
 * The keys among these nodes, and the keys below the other nodes. Whether a node is a key shows
 * only in its data, except for the entries of queues.
 */
async function readLevels(listing: Listing, paths: readonly string[]): Promise<readonly Row[]> {
  if (paths.length === 0) return [];
  const { reads, namespace, time } = listing;
  const rows = await readAll(reads, namespace, paths, time);
  const leaves = new Set(rows.map(({ entry }) => namespace.path(entry.key)));
  const inner = paths.filter((path) => !leaves.has(path));
  const below = await Promise.all(inner.map(async (path) => childrenOf(path, await namesUnder(listing, path))));
  const queued = below.flatMap(({ queue }) => bareRows(listing, queue));
  const others = below.flatMap((children) => children.others);
  return [...rows.map(({ entry, since }) => ({ entry: withoutValue(entry), since })), ...queued, ...(await readLevels(listing, others))];
}

function byOrder(a: QueueNode, b: QueueNode): number {
  return a.order - b.order;
}

function bySince(a: Row, b: Row): number {
  return a.since < b.since ? -1 : Number(a.since > b.since);
}
