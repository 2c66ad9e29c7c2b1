/**
 * Partitions divided among the members that are there. Uses only what core exports: every partition
 * is an ordinary election, and a group says which members there are.
 */

import {
  type Clock,
  type Election,
  type ElectionOptions,
  type Group,
  type GroupMember,
  IncumbentError,
  isIncumbentError,
  type LeadOptions,
  type Member,
} from '@incumbent/core';
import {
  checkClock,
  checkFunction,
  checkKnown,
  checkName,
  checkNumber,
  checkSignal,
  electionOptions,
  invalidOption,
  keepAlive,
  onAbort,
} from '@incumbent/core/adapter';
import { assignPartitions, type PartitionMember, partitionElection } from './assignment.ts';
import { type Job, PartitionCampaign, type PartitionLeadership, type PartitionWork } from './campaign.ts';
import { SettledMembers } from './settled-members.ts';

/** The options of a {@link PartitionedElection}: those of an election, and these. */
export interface PartitionOptions<V = unknown> extends Omit<ElectionOptions<V>, 'succession'> {
  /** How many partitions there are: an integer from 1 to 1,000. The same for all members. */
  readonly partitions: number;
  /**
   * How long the list of members must stay the same before partitions move to other members, in ms.
   * A member that is back within this time has not changed the list. A list that never stays the
   * same for that long takes effect after ten times this time. From 0 to 600,000. Default 3,000.
   */
  readonly settleMs?: number | undefined;
  /** The clock of the member, for tests and simulation. Default `systemClock`. */
  readonly clock?: Clock | undefined;
}

/** The options of {@link PartitionedElection.lead}. */
export type PartitionLeadOptions = Pick<LeadOptions, 'signal' | 'retry'>;

/** Each partition that a member leads costs keys and watches. */
const MOST_PARTITIONS = 1_000;

/** What the members show in the group. */
interface Shown {
  readonly partitions: number;
}

/**
 * One member's part in the division of a fixed number of partitions among the members that are
 * there. Each partition has one leader, and the counts of any two members differ by at most one.
 * Partition `i` of `orders` is the election `orders.i`, so its terms are its own, and observers and
 * tools see it as any other. The group `orders.members` says which members there are.
 */
export class PartitionedElection<V = unknown> {
  readonly name: string;
  /** How many partitions there are. */
  readonly partitions: number;
  readonly #member: Member;
  readonly #settleMs: number;
  readonly #clock: Clock;
  readonly #group: Group<Shown>;
  readonly #elections: readonly Election<V>[];
  #campaigns: ReadonlyMap<number, PartitionCampaign<V>> | undefined;

  /**
   * Does no I/O. The options besides `partitions`, `settleMs` and `clock` apply to every partition.
   *
   * @throws As `member.election`, also if the member takes part in one of these elections or in the
   *   group already.
   */
  constructor(member: Member, name: string, options: PartitionOptions<V>) {
    checkName('name', name);
    // The longest name of all that are made below.
    checkName('name', membersGroup(name));
    if (typeof member !== 'object' || member === null || !('election' in member)) throw invalidOption('member', member, 'a Member');
    if (typeof options !== 'object' || options === null) throw invalidOption('options', options, 'an object with `partitions`');
    if ('succession' in options)
      throw invalidOption('succession', options.succession, 'left out: the members divide the partitions evenly');
    const electionWide = electionOptions.filter((option) => option !== 'succession');
    checkKnown('partitioned election', options, [...electionWide, 'partitions', 'settleMs', 'clock']);
    const { partitions, settleMs, clock, ...rest } = options;
    this.name = name;
    this.partitions = checkPartitions(partitions);
    this.#member = member;
    this.#settleMs = checkNumber('settleMs', settleMs, 3_000, { min: 0, max: 600_000 });
    this.#clock = checkClock(clock);
    const electionOf = (partition: number): Election<V> => member.election<V>(partitionElection(name, partition), { ...rest });
    this.#elections = Array.from({ length: partitions }, (_, partition) => electionOf(partition));
    this.#group = member.group<Shown>(membersGroup(name), { value: { partitions }, parse: readShown });
  }

  /** The present leaderships of this member that are valid, in the order of the partitions. */
  get leaderships(): readonly PartitionLeadership<V>[] {
    const campaigns = [...(this.#campaigns?.values() ?? [])];
    const held = campaigns.flatMap(({ leadership }) => (leadership?.isValid() === true ? [leadership] : []));
    return held.toSorted((a, b) => a.partition - b.partition);
  }

  /**
   * Takes part in the division, and runs `work` for each partition while this member leads it: for
   * several partitions at the same time. When a partition moves to another member, aborts the
   * leadership's signal, awaits the work, and hands the partition over. After a loss, calls `work`
   * again with a new term as soon as the member is elected again.
   *
   * Work may return before its signal aborts: the member leads the partition until it moves. A
   * member whose work resigns a partition campaigns for it again after a second. Work that throws
   * while it leads ends everything, unless `retry` accepts the error as in `election.lead`: this
   * aborts the other works, resigns all partitions, and rejects with the error. A `STALE_TERM` of a
   * fence only ends the leadership of that partition. Aborting the signal does the same as an error
   * of the work, and rejects with the signal's reason. Resolves when the member has closed.
   *
   * @throws As `election.lead` and `group.join`. `ALREADY_CAMPAIGNING` while another call runs.
   *   `MEMBER_CLOSED` if other code leaves the group of the members while this call joins it.
   */
  async lead(work: PartitionWork<V>, options: PartitionLeadOptions = {}): Promise<void> {
    checkFunction('work', work);
    const signal = checkSignal(options, ['retry']);
    const { retry } = options;
    if (retry !== undefined && retry !== false) checkFunction('retry', retry);
    if (this.#campaigns !== undefined)
      throw new IncumbentError('ALREADY_CAMPAIGNING', `this member already takes part in the partitions of "${this.name}"`);
    const campaigns = new Map<number, PartitionCampaign<V>>();
    this.#campaigns = campaigns;
    const [over, leaving] = [new AbortController(), new AbortController()];
    const stop = onAbort(signal, () => over.abort(signal?.reason));
    const fail = (error: unknown): void => over.abort(error);
    const assign = (members: readonly PartitionMember[]): void =>
      this.#assign(members, campaigns, { work, retry, over: over.signal, leaving: leaving.signal, fail });
    try {
      await keepAlive(this.#clock, async () => {
        await this.#follow(assign, over.signal).catch(fail);
        leaving.abort();
        // Leaves first, so that the others move no partition to this member. A member that closes
        // leaves by itself.
        const left = over.signal.aborted ? this.#group.leave() : undefined;
        await Promise.all([left, ...[...campaigns.values()].map(({ done }) => done)]);
        // The member closes, and `election.lead` resolves when it has closed. There may have been
        // no campaign.
        if (!over.signal.aborted) await this.#elections[0]?.lead(() => {}, { signal: over.signal });
      });
    } finally {
      stop();
      this.#campaigns = undefined;
    }
    over.signal.throwIfAborted();
  }

  /** Joins the group and follows its members, until the member closes. Rejects if `over` aborts. */
  async #follow(assign: (members: readonly PartitionMember[]) => void, over: AbortSignal): Promise<void> {
    const settled = new SettledMembers(this.#clock, this.#settleMs, assign);
    let isShown = false;
    try {
      await this.#group.join({ signal: over });
      for await (const members of this.#group.views({ signal: over })) {
        // The first list may be older than the join.
        isShown ||= members.some(({ memberId }) => memberId === this.#member.memberId);
        if (isShown) settled.update(members.map(partitionMember));
      }
    } catch (error) {
      // Also the code if somebody leaves the group for this member while it joins.
      if (!isIncumbentError(error, 'MEMBER_CLOSED') || this.#member.state !== 'closed') throw error;
    } finally {
      settled.close();
    }
  }

  /** Campaigns for the partitions that this member shall lead, or shall lead next. */
  #assign(members: readonly PartitionMember[], campaigns: Map<number, PartitionCampaign<V>>, job: Job<V>): void {
    for (const [partition, { preferred, successor }] of assignPartitions(this.name, members).entries()) {
      const election = this.#elections[partition];
      // Other members know more partitions than this one.
      if (election === undefined) break;
      const isCandidate = [preferred, successor].includes(this.#member.memberId);
      let campaign = campaigns.get(partition);
      if (isCandidate && campaign?.isWithdrawn !== false) {
        campaign = new PartitionCampaign<V>({ ...job, partition, election, clock: this.#clock, after: campaign?.done });
        campaigns.set(partition, campaign);
      }
      campaign?.assign(preferred, isCandidate);
    }
  }
}

function membersGroup(name: string): string {
  return `${name}.members`;
}

function partitionMember({ memberId, value }: GroupMember<Shown>): PartitionMember {
  return { memberId, partitions: value?.partitions ?? 0 };
}

/** Throws for anything but what a member shows in the group. */
function readShown(value: unknown): Shown {
  const partitions = typeof value === 'object' && value !== null && 'partitions' in value ? value.partitions : undefined;
  return { partitions: checkPartitions(partitions) };
}

function checkPartitions(partitions: unknown): number {
  if (typeof partitions === 'number' && Number.isInteger(partitions) && partitions >= 1 && partitions <= MOST_PARTITIONS) return partitions;
  throw invalidOption('partitions', partitions, `an integer from 1 to ${MOST_PARTITIONS}`);
}
