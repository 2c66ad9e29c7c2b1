/** The example's own keys in the store. */

import type { ElectionOptions, Entry, Store } from 'incumbent';
import { type Partition, partitionShape } from './partitions.ts';
import { recordOf, term, text, type Shape } from './shapes.ts';

export const ELECTION = 'kafka-controller';
export const GROUP = 'kafka-brokers';
/** The prefix of the partitions' keys. */
export const PARTITIONS = 'kafka/partitions';

/** What a broker publishes to the others. */
export interface Address {
  readonly url: string;
}

export const addressShape: Shape<Address> = recordOf<Address>({ url: text });

/**
 * The example runs on any store, also on one that is not linearizable. A real program names the
 * weak store that it accepts: `acceptWeakStore: 'redis'`.
 */
export function acceptAnyStore({ name, capabilities }: Store): Pick<ElectionOptions<Address>, 'acceptWeakStore'> {
  return capabilities.linearizable ? {} : { acceptWeakStore: name };
}

/** A partition, and the term of the controller that wrote it. */
export interface PartitionRecord {
  readonly term: bigint;
  readonly partition: Partition;
}

const recordShape = recordOf<PartitionRecord>({ term, partition: partitionShape });

export function keyOf(partition: string): string {
  return `${PARTITIONS}/${partition}`;
}

export function encode({ term: writtenIn, partition }: PartitionRecord): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ term: String(writtenIn), partition }));
}

export function decode({ value }: Entry): PartitionRecord {
  return recordShape(JSON.parse(new TextDecoder().decode(value)));
}
