/**
 * Checks the state of the world after a long calm. Every member is registered, its entry is in the
 * queue, it is in its group unless it has left, and all members see it there. Where the succession
 * rebalances, the preferred candidate leads. When a leader crashes, the next candidate in line
 * leads.
 */

import type { ProcessView, Phase, WorldEvent } from '../world/event.ts';
import { Findings, type Checker } from './checker.ts';

/** What core logs when another process holds the member's id, and when a session has ended. */
const DUPLICATE_MEMBER = 'another process holds this member id';
const SESSION_ENDED = 'session ended';

type CalmState = Extract<WorldEvent, { type: 'calmState' }>;

export class CalmStateChecker implements Checker {
  readonly findings: Findings = new Findings();
  readonly #left = new Set<ProcessView>();
  readonly #stoppedCampaigning = new Set<ProcessView>();
  /**
   * Members whose id another process holds. Joining fails for good with `DUPLICATE_MEMBER`, and so
   * does staying in a group.
   */
  readonly #doubled = new Set<ProcessView>();
  readonly #seen = new Map<ProcessView, readonly string[]>();
  /** The prefix of the candidates' entries. */
  readonly #queue: string;
  #phase: Phase = 'storm';
  #holder = '';
  #line: readonly QueuePosition[] = [];
  #next: string | undefined;
  /**
   * Members whose entry an operator deleted and a late enqueue restored. The new entry is further
   * back, and candidates that already wait have not seen it.
   */
  readonly #requeued = new Set<string>();

  constructor(election: string) {
    this.#queue = `elections/${election}/candidates/`;
  }

  onEvent(event: WorldEvent, atMs: number): void {
    switch (event.type) {
      case 'leftGroup':
        this.#left.add(event.process);
        return undefined;
      case 'stoppedCampaigning':
        this.#stoppedCampaigning.add(event.process);
        return undefined;
      case 'logged':
        if (event.message === DUPLICATE_MEMBER || (event.message === SESSION_ENDED && event.reason === 'replaced'))
          this.#doubled.add(event.process);
        return undefined;
      case 'groupMembers':
        this.#seen.set(event.process, event.ids);
        return undefined;
      case 'issued':
        this.#holder = event.memberId;
        return undefined;
      case 'watchesSilenced':
      case 'serverHung':
        // The first candidate that notices the vacancy may pass over the next in line.
        this.#next = undefined;
        return undefined;
      case 'requeued':
        this.#requeued.add(event.name);
        return undefined;
      case 'queue':
        this.#line = event.names.some((name) => this.#requeued.has(name)) ? [] : lineOf(event.names);
        return undefined;
      case 'calmState':
        return this.#checkCalmState(event, atMs);
      case 'phase':
        return this.#enter(event.phase, atMs);
      case 'elected':
        return this.#elected(event.handle.process, atMs);
      default:
        return undefined;
    }
  }

  #checkCalmState({ members, group }: CalmState, atMs: number): void {
    for (const { process, keys } of members) {
      const id = idOf(process);
      // A member that has left its group and does not campaign needs no session.
      const isFree = (this.#left.has(process) && this.#stoppedCampaigning.has(process)) || this.#doubled.has(process);
      if (!isFree && !keys.includes(`members/${id}`))
        this.findings.add('a member holds its id', atMs, `${process.name} has no key of its own`);
      const campaigns = !this.#stoppedCampaigning.has(process) && !this.#doubled.has(process);
      if (campaigns && !keys.some((key) => key.startsWith(this.#queue)))
        this.findings.add('who campaigns is in the queue', atMs, `${process.name} is not`);
      const [isIn, isOut] = [keys.some((key) => key.startsWith('groups/')), this.#left.has(process)];
      if (isIn === isOut && !this.#doubled.has(process))
        this.findings.add('a member stays in its groups', atMs, `${process.name} ${isIn ? 'has left, and is in' : 'is not in'}`);
      const shown = this.#seen.get(process)?.toSorted().join() ?? 'nothing';
      if (shown !== group.toSorted().join())
        this.findings.add('members of a group see one another', atMs, `${process.name} is shown ${shown}; in it are ${group.join()}`);
    }
  }

  #enter(phase: Phase, atMs: number): void {
    this.#phase = phase;
    const [first] = this.#line;
    if (phase === 'deposed' && first?.succession === 'priority' && first.memberId !== this.#holder)
      this.findings.add('leadership comes back', atMs, `${this.#holder} leads, and ${first.memberId} goes before it`);
    if (phase === 'failover') this.#next = this.#line.find(({ memberId }) => memberId !== this.#holder)?.memberId;
  }

  #elected(process: ProcessView, atMs: number): void {
    if (this.#phase !== 'failover' || this.#next === undefined) return;
    // A member that has joined the queue since may precede it.
    const id = idOf(process);
    if (id !== this.#next && this.#line.some(({ memberId }) => memberId === id))
      this.findings.add('the next in line follows', atMs, `${process.name} leads, and ${this.#next} was the next`);
    this.#next = undefined;
  }
}

interface QueuePosition {
  readonly memberId: string;
  readonly succession: string;
  readonly rank: string;
}

/**
 * The members in the order of succession. The names of the entries are in the order of arrival.
 * Empty if members disagree about the order.
 */
function lineOf(names: readonly string[]): readonly QueuePosition[] {
  const places = names.map((name) => {
    const [memberId = '', , , succession = '', rank = ''] = name.split('~');
    return { memberId, succession, rank };
  });
  switch (places[0]?.succession) {
    case 'fifo':
      return places;
    case 'priority':
      return places.toSorted((a, b) => Number(b.rank) - Number(a.rank));
    case 'rendezvous':
      return places.toSorted((a, b) => Number(a.rank < b.rank) - Number(a.rank > b.rank));
    default:
      return [];
  }
}

function idOf({ name }: ProcessView): string {
  return name.slice(0, name.indexOf('#'));
}
