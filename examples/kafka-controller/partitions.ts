/**
 * The controller's decisions as pure functions: which brokers keep a partition, which one leads it,
 * which replicas are in sync. Each function takes the present partitions and returns those that
 * must change, or none. So this controller or the next one can repeat a decision from any state.
 */

import { Fence } from 'incumbent';
import { count, listOf, orNull, recordOf, text, type Shape } from './shapes.ts';

/** A partition as the store keeps it, with the ids of its brokers. */
export interface Partition {
  /** The brokers that keep it, the preferred leader first. While it moves, also the former ones. */
  readonly replicas: readonly string[];
  /** The brokers that keep it after its move; null if it does not move. */
  readonly target: readonly string[] | null;
  /** Null while no in-sync replica is alive: the partition waits for one. */
  readonly leader: string | null;
  /** Incremented for every leader: the partition's own term. */
  readonly leaderEpoch: number;
  /** The in-sync set. Each member has every acknowledged message. Never empty. */
  readonly isr: readonly string[];
  /** Incremented for every change. */
  readonly version: number;
}

/** By name: `orders-0`. */
export type Partitions = ReadonlyMap<string, Partition>;

export const partitionShape: Shape<Partition> = recordOf<Partition>({
  replicas: listOf(text),
  target: orNull(listOf(text)),
  leader: orNull(text),
  leaderEpoch: count,
  isr: listOf(text),
  version: count,
});

/** The brokers that the controller sees. */
export interface Presence {
  readonly live: ReadonlySet<string>;
  /** Brokers that are about to stop and must not lead. */
  readonly leaving: ReadonlySet<string>;
}

export interface Topic {
  readonly topic: string;
  readonly partitions: number;
  readonly replicationFactor: number;
}

/**
 * The partitions of a new topic, spread over the brokers: each partition starts one broker further
 * on.
 */
export function createTopic({ topic, partitions, replicationFactor }: Topic, live: ReadonlySet<string>): Partitions {
  const brokers = [...live].toSorted();
  if (replicationFactor < 1 || replicationFactor > brokers.length)
    throw new RangeError(`replicationFactor is ${replicationFactor}: it must be from 1 to ${brokers.length}, the brokers there are`);
  const fresh = Array.from({ length: partitions }, (_, index): [string, Partition] => {
    const replicas = [...brokers, ...brokers].slice(index % brokers.length).slice(0, replicationFactor);
    return [`${topic}-${index}`, { replicas, target: null, leader: replicas[0] ?? null, leaderEpoch: 1, isr: replicas, version: 1 }];
  });
  return new Map(fresh);
}

/**
 * After a crash, a shutdown or a return: replaces leaders that cannot lead, and completes moves
 * that can complete.
 */
export function repair(partitions: Partitions, presence: Presence): Partitions {
  return changed(partitions, (partition) => withLeader(inSync(moved(partition, presence), presence), presence));
}

/** Moves leadership to preferred replicas that are alive and in sync. */
export function preferLeaders(partitions: Partitions, presence: Presence): Partitions {
  return changed(partitions, (partition) => {
    const [preferred] = partition.replicas;
    return preferred !== undefined && canLead(partition, presence)(preferred) ? led(partition, preferred) : partition;
  });
}

/**
 * A leader's request for a new in-sync set, for the version of the partition that the leader knows.
 */
export interface AlterIsr {
  readonly partition: string;
  readonly leaderEpoch: number;
  readonly version: number;
  readonly isr: readonly string[];
}

export const alterIsrShape: Shape<AlterIsr> = recordOf<AlterIsr>({
  partition: text,
  leaderEpoch: count,
  version: count,
  isr: listOf(text),
});

/**
 * Returns no change if the partition has changed meanwhile, or if a dead or leaving broker would
 * join. Throws `STALE_TERM` if a newer leader leads. A request for the present set is a change too,
 * because it makes all older requests invalid.
 */
export function alterIsr(partitions: Partitions, { partition: name, leaderEpoch, version, isr }: AlterIsr, presence: Presence): Partitions {
  const partition = partitions.get(name);
  if (partition === undefined) throw new RangeError(`there is no partition ${name}`);
  new Fence({ highest: BigInt(partition.leaderEpoch) }).admit(BigInt(leaderEpoch));
  const { replicas, leader } = partition;
  const may = (id: string): boolean => partition.isr.includes(id) || (presence.live.has(id) && !presence.leaving.has(id));
  const isFit = isr.every((id) => replicas.includes(id) && may(id)) && isr.some((id) => id === leader);
  return partition.version === version && isFit ? new Map([[name, withNextVersion({ ...partition, isr: [...new Set(isr)] })]]) : new Map();
}

/**
 * The partitions to move to a broker that keeps none, from the brokers with most to those with
 * fewest partitions, until the numbers differ by at most one. None while others move, and none
 * because a broker is absent: it may return.
 */
export function spread(partitions: Partitions, { live, leaving }: Presence): Partitions {
  if ([...partitions.values()].some(({ target }) => target !== null)) return new Map();
  const moves = new Map<string, Partition>();
  const kept = new Map([...live].filter((id) => !leaving.has(id)).map((id) => [id, keptBy(partitions, id)]));
  if (![...kept.values()].includes(0)) return moves;
  for (;;) {
    const byLoad = [...kept.keys()].toSorted((a, b) => (kept.get(a) ?? 0) - (kept.get(b) ?? 0) || (a < b ? -1 : 1));
    const [least, most] = [byLoad[0], byLoad.at(-1)];
    if (least === undefined || most === undefined || (kept.get(most) ?? 0) - (kept.get(least) ?? 0) < 2) return moves;
    const movable = [...partitions].find(
      ([name, { replicas }]) => !moves.has(name) && replicas.includes(most) && !replicas.includes(least),
    );
    if (movable === undefined) return moves;
    const [name, partition] = movable;
    const target = partition.replicas.map((id) => (id === most ? least : id));
    moves.set(name, withNextVersion({ ...partition, target, replicas: [...new Set([...partition.replicas, ...target])] }));
    kept.set(most, (kept.get(most) ?? 0) - 1).set(least, (kept.get(least) ?? 0) + 1);
  }
}

function keptBy(partitions: Partitions, broker: string): number {
  return [...partitions.values()].filter(({ replicas }) => replicas.includes(broker)).length;
}

function changed(partitions: Partitions, decide: (partition: Partition) => Partition): Partitions {
  const decided = [...partitions].map(([name, before]) => [name, before, decide(before)] as const);
  return new Map(decided.filter(([, before, after]) => !isSame(before, after)).map(([name, , after]) => [name, withNextVersion(after)]));
}

function withNextVersion(partition: Partition): Partition {
  return { ...partition, version: partition.version + 1 };
}

function isSame(a: Partition, b: Partition): boolean {
  return JSON.stringify(partitionShape(a)) === JSON.stringify(partitionShape(b));
}

/** A move is complete when all new replicas are in sync and one of them can lead. */
function moved(partition: Partition, presence: Presence): Partition {
  const { target, isr, leader } = partition;
  if (target === null || !target.every((id) => isr.includes(id))) return partition;
  const leads = leader !== null && target.includes(leader) ? leader : target.find(canLead(partition, presence));
  if (leads === undefined) return partition;
  return { ...led(partition, leads), replicas: target, target: null, isr: target };
}

/**
 * Removes dead and leaving brokers from the in-sync set; if that is all of them, keeps all, because
 * only they have every message.
 */
function inSync(partition: Partition, { live, leaving }: Presence): Partition {
  const present = partition.isr.filter((id) => live.has(id));
  const staying = present.filter((id) => !leaving.has(id));
  const left = [staying, present].find((ids) => ids.length > 0);
  return { ...partition, isr: left ?? partition.isr };
}

function withLeader(partition: Partition, presence: Presence): Partition {
  const { leader, replicas } = partition;
  const can = canLead(partition, presence);
  if (leader !== null && can(leader)) return partition;
  const next = replicas.find(can) ?? replicas.find((id) => partition.isr.includes(id) && presence.live.has(id));
  if (next === undefined) return { ...partition, leader: null };
  return led(partition, next);
}

function canLead({ isr }: Partition, { live, leaving }: Presence): (id: string) => boolean {
  return (id) => isr.includes(id) && live.has(id) && !leaving.has(id);
}

function led(partition: Partition, leader: string): Partition {
  if (partition.leader === leader) return partition;
  return { ...partition, leader, leaderEpoch: partition.leaderEpoch + 1 };
}
