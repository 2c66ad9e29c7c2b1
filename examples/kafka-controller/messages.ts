/** The messages between brokers, and the checks of their shapes. */

import { type Entry, entryShape, type Position, positionShape } from './log.ts';
import { type Partition, partitionShape, type Topic } from './partitions.ts';
import { count, listOf, orNull, recordOf, term, text, type Shape } from './shapes.ts';

/** From the controller to a broker: Kafka's LeaderAndIsr, StopReplica and UpdateMetadata in one. */
export interface LeaderAndIsr {
  /** The id of the controller. */
  readonly controller: string;
  readonly term: bigint;
  readonly partitions: Readonly<Record<string, Partition>>;
}

export const leaderAndIsrShape: Shape<LeaderAndIsr> = recordOf<LeaderAndIsr>({ controller: text, term, partitions: namedPartitions });

function namedPartitions(value: unknown): Readonly<Record<string, Partition>> {
  if (typeof value !== 'object' || value === null) throw new TypeError('expected partitions by name');
  return Object.fromEntries(Object.entries(value).map(([name, partition]) => [nameShape(name), partitionShape(partition)]));
}

/** The names of partitions are used as keys and file names. */
const nameShape: Shape<string> = (value) => {
  const name = text(value);
  if (/^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/.test(name)) return name;
  throw new TypeError(`${JSON.stringify(name)} is no name: 1 to 100 of A-Z a-z 0-9 . _ -, beginning with a letter or digit`);
};

/** What a leader sends to a follower. */
export interface Append {
  readonly partition: string;
  /** The id of the broker that leads the partition. */
  readonly leader: string;
  readonly leaderEpoch: number;
  readonly after: Position;
  readonly entries: readonly Entry[];
  readonly committed: number;
}

export const appendShape: Shape<Append> = recordOf<Append>({
  partition: nameShape,
  leader: text,
  leaderEpoch: count,
  after: positionShape,
  entries: listOf(entryShape),
  committed: count,
});

export const appendReplyShape = recordOf<{ readonly again: number | null }>({ again: orNull(count) });

export const topicShape: Shape<Topic> = recordOf<Topic>({ topic: nameShape, partitions: count, replicationFactor: count });

export interface Produce {
  readonly partition: string;
  readonly values: readonly string[];
}

export const produceShape: Shape<Produce> = recordOf<Produce>({ partition: nameShape, values: listOf(text) });
export const produceReplyShape = recordOf<{ readonly offset: number }>({ offset: count });

export interface Fetch {
  readonly partition: string;
  readonly from: number;
}

export const fetchShape: Shape<Fetch> = recordOf<Fetch>({ partition: nameShape, from: count });
export const fetchReplyShape = recordOf<{ readonly values: readonly string[]; readonly committed: number }>({
  values: listOf(text),
  committed: count,
});

export const leavingShape = recordOf<{ readonly incarnation: string }>({ incarnation: text });
export const handoverShape = recordOf<{ readonly to: string }>({ to: text });
export const nothing: Shape<void> = () => {};
