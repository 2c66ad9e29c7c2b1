/**
 * The groups that the sidecar has joined. The store has one key for each member of a group, and the
 * sidecar is one member, so it joins a group on behalf of one client at a time. The client keeps
 * the membership by its requests. If the client falls silent, the sidecar leaves the group.
 */

import { type Clock, type Group, type GroupMember, IncumbentError, isIncumbentError, type Member } from '@incumbent/core';
import { checkName } from '@incumbent/core/adapter';

import { ApiError } from './api-error.ts';
import type { MembershipDocument } from './documents.ts';
import { isSecret, newSecret } from './secret.ts';
import { SilenceTimer } from './silence-timer.ts';

/** The most groups that one sidecar joins, with those that it has left. */
const MAX_GROUPS = 10_000;

/** A member keeps each group that it has read. After so many reads another member takes over. */
const READS_OF_A_READER = 1_000;

export interface MembershipSettings {
  /** The value that the membership shows to the other members: any JSON. */
  readonly value?: unknown;
  readonly renewWithinMs: number;
}

export interface MembershipsContext {
  readonly clock: Clock;
  readonly member: Member;
  /** Makes a member that takes part in nothing, to read groups that the sidecar has not joined. */
  readonly newReader: () => Member;
  /** The most groups that the sidecar joins. Default 10,000. */
  readonly maxGroups?: number;
  /** @throws `TOO_LARGE` or `INVALID_OPTION` if the store cannot hold the value. */
  readonly checkValue: (value: unknown) => void;
  /**
   * Called if the group cannot be joined, or joined again after the lease was lost, and a retry
   * would fail again.
   */
  readonly failed: (group: string, why: string) => void;
  /** Called if a new value cannot be shown, and a retry would fail again. */
  readonly publishFailed: (group: string, why: string) => void;
}

/** A group of this sidecar, and the client on whose behalf the sidecar is in it. */
interface JoinableGroup {
  readonly group: Group;
  membership: Membership | undefined;
}

export class Memberships {
  readonly #context: MembershipsContext;
  readonly #groups = new Map<string, JoinableGroup>();
  #reader: Member;
  #reads = 0;
  #isClosed = false;

  constructor(context: MembershipsContext) {
    this.#context = context;
    this.#reader = context.newReader();
  }

  /** How many memberships there are. */
  get size(): number {
    return [...this.#groups.values()].filter(({ membership }) => membership !== undefined).length;
  }

  /** Reads the members of a group. Does not count towards the limit of groups. */
  async members(name: string): Promise<readonly GroupMember[]> {
    const known = this.#groups.get(checkName('group', name));
    return (known?.group ?? this.#read(name)).members();
  }

  /** The member is no longer in the group, and fails to join it again. */
  groupLeft(name: string, error: unknown): void {
    this.#groups.get(name)?.membership?.groupLeft(error);
  }

  /** The member is in the group again. */
  groupRejoined(name: string): void {
    this.#groups.get(name)?.membership?.groupRejoined();
  }

  /**
   * Joins the group for a client.
   *
   * @throws `MEMBERSHIP_EXISTS`, `TOO_MANY`, `INVALID_NAME`, `MEMBER_CLOSED`, or `TOO_LARGE` or
   *   `INVALID_OPTION` if the store cannot hold the value.
   */
  join(name: string, settings: MembershipSettings): Membership {
    if (this.#isClosed) throw new IncumbentError('MEMBER_CLOSED', 'the sidecar is closing: use another one');
    const joinable = this.#groupOf(name);
    if (joinable.membership !== undefined)
      throw new ApiError('MEMBERSHIP_EXISTS', `the sidecar is in the group "${name}" for another client, or has not left it yet`);
    const { member } = this.#context;
    const over = (): void => {
      joinable.membership = undefined;
    };
    const membership = new Membership({ ...this.#context, group: joinable.group, memberId: member.memberId, over }, settings);
    joinable.membership = membership;
    membership.join();
    return membership;
  }

  /**
   * The membership of the client with this secret.
   *
   * @throws `NO_SUCH_MEMBERSHIP` or `WRONG_SECRET`.
   */
  find(name: string, secret: string): Membership {
    const membership = this.#groups.get(name)?.membership;
    if (membership === undefined || membership.isLeaving)
      throw new ApiError('NO_SUCH_MEMBERSHIP', `no client has joined the group "${name}" at this sidecar, or its membership is over`);
    if (!isSecret(secret, membership.secret))
      throw new ApiError('WRONG_SECRET', 'the header "membership-secret" is not the secret of this membership');
    membership.renew();
    return membership;
  }

  /** Stops all timers for good, and joins no more groups. The member leaves them when it closes. */
  close(): void {
    this.#isClosed = true;
    for (const { membership } of this.#groups.values()) membership?.close();
  }

  #read(name: string): Group {
    this.#reads += 1;
    if (this.#reads % READS_OF_A_READER === 0) this.#reader = this.#context.newReader();
    return this.#reader.group(name);
  }

  #groupOf(name: string): JoinableGroup {
    const known = this.#groups.get(checkName('group', name));
    if (known !== undefined) return known;
    const { maxGroups = MAX_GROUPS } = this.#context;
    if (this.#groups.size >= maxGroups) throw new ApiError('TOO_MANY', `the sidecar has joined ${maxGroups} groups, and takes no more`);
    const joinable: JoinableGroup = { group: this.#context.member.group(name), membership: undefined };
    this.#groups.set(name, joinable);
    return joinable;
  }
}

interface MembershipContext extends Pick<MembershipsContext, 'clock' | 'checkValue' | 'failed' | 'publishFailed'> {
  readonly group: Group;
  readonly memberId: string;
  /** Called when the group has been left. */
  readonly over: () => void;
}

/** One client's membership of a group. */
export class Membership {
  /** Proves to the sidecar that a request is from the client that has joined. */
  readonly secret: string = newSecret();
  readonly #context: MembershipContext;
  #settings: MembershipSettings;
  readonly #silence: SilenceTimer;
  #isJoined = false;
  /** True from the event `groupLeft` to `groupRejoined`. */
  #isOut = false;
  #isClosed = false;
  #left: Promise<void> | undefined;

  /** @throws `TOO_LARGE` or `INVALID_OPTION` if the store cannot hold the value. */
  constructor(context: MembershipContext, settings: MembershipSettings) {
    context.checkValue(valueOf(settings));
    this.#context = context;
    this.#settings = settings;
    this.#silence = new SilenceTimer(context.clock);
    this.renew();
  }

  get isLeaving(): boolean {
    return this.#left !== undefined;
  }

  document(): MembershipDocument {
    const { group, memberId: member } = this.#context;
    const { renewWithinMs } = this.#settings;
    return { group: group.name, member, joined: this.#isJoined && !this.#isOut && !this.isLeaving, renewWithinMs };
  }

  /** The client has sent a request: restarts `renewWithinMs`. */
  renew(): void {
    if (this.isLeaving || this.#isClosed) return;
    this.#silence.start(this.#settings.renewWithinMs, () => void this.leave());
  }

  join(): void {
    const { group, failed } = this.#context;
    // Before the join, publishing only sets the value.
    this.#publish()
      .then(() => (this.isLeaving ? undefined : group.join()))
      .then(
        () => {
          this.#isJoined = true;
        },
        (error: unknown) => {
          if (this.isLeaving) return;
          if (!isIncumbentError(error, 'MEMBER_CLOSED')) failed(group.name, reasonOf(error));
          void this.leave();
        },
      );
  }

  /**
   * Changes the settings that are given: the others see a new value as soon as the store has it.
   *
   * @throws `TOO_LARGE` or `INVALID_OPTION` if the store cannot hold the value.
   */
  configure(changes: Partial<MembershipSettings>): void {
    const settings = { ...this.#settings, ...changes };
    this.#context.checkValue(valueOf(settings));
    this.#settings = settings;
    this.renew();
    if (!('value' in changes)) return;
    const { group, publishFailed } = this.#context;
    this.#publish().catch((error: unknown) => {
      if (!isIncumbentError(error, 'MEMBER_CLOSED')) publishFailed(group.name, reasonOf(error));
    });
  }

  /** The client keeps the membership, by which it learns that it is not joined any more. */
  groupLeft(error: unknown): void {
    if (this.isLeaving) return;
    this.#isOut = true;
    this.#context.failed(this.#context.group.name, reasonOf(error));
  }

  groupRejoined(): void {
    this.#isOut = false;
  }

  /** Resolves when the others see the member no more. Idempotent. */
  async leave(): Promise<void> {
    this.#silence.stop();
    this.#left ??= this.#leave();
    await this.#left;
  }

  /**
   * Stops the timer for good. The member leaves the group when it closes, and not when this client
   * falls silent.
   */
  close(): void {
    this.#isClosed = true;
    this.#silence.stop();
  }

  #publish(): Promise<void> {
    return this.#context.group.publish(valueOf(this.#settings));
  }

  async #leave(): Promise<void> {
    await this.#context.group.leave();
    this.#context.over();
  }
}

function valueOf({ value = null }: MembershipSettings): unknown {
  return value;
}

function reasonOf(error: unknown): string {
  return isIncumbentError(error) ? `${error.code}: ${error.message}` : 'the sidecar has failed';
}
