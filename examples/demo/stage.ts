/** What every act of the story needs: who leads, who is in line, and how one leader follows another. */

import { Member, type CandidateView, type Election, type Store } from 'incumbent';
import type { Cast } from './cast.ts';
import { now } from './clock.ts';
import { toldOf, type Act, type ActName } from './history.ts';
import type { MemberProcess } from './member-process.ts';
import { ELECTION } from './messages.ts';
import { bad, good, ms, names, type Screen, who } from './screen.ts';
import { untilAnswered } from './until-answered.ts';

/** Above what the store promises: a limit is there to tell what is broken, not what is slow. */
const SLACK_MS = 5_000;
/** How long processes may take to start and to join. */
export const START_WITHIN_MS = 15_000;
const BETWEEN_ACTS_MS = 1_000;

/** A promise was broken so that the story cannot go on. The history says which. */
export class StoryEnds extends Error {}

/** What is expected of the next leader. */
interface Expected {
  /** Who led before. */
  readonly leader?: MemberProcess;
  readonly named?: string;
  readonly limitMs: number;
  /** The next leader's word comes at this position of all that was told, or later. */
  readonly since: number;
  /** When the leader before came to its end. */
  readonly endedAt: () => Promise<number>;
}

export class Stage {
  readonly cast: Cast;
  readonly screen: Screen;
  readonly acts: Act[] = [];
  /** What a vacancy must stay below where a lease has to expire. */
  readonly expiryLimitMs: number;
  /** And where none has to. */
  readonly plannedLimitMs: number;
  readonly #expiryMs: number;
  readonly #election: Election;

  constructor(store: Store, { cast, screen, ttlMs }: { cast: Cast; screen: Screen; ttlMs: number }) {
    this.cast = cast;
    this.screen = screen;
    this.#expiryMs = store.capabilities.expiresWithinMs(ttlMs);
    this.expiryLimitMs = this.#expiryMs + SLACK_MS;
    this.plannedLimitMs = ttlMs;
    // A member that never campaigns has no lease, and may ask who does.
    this.#election = new Member(store).election(ELECTION, { acceptWeakStore: store.name });
  }

  /** The process that leads, as far as the members have told. */
  get leader(): MemberProcess {
    const last = toldOf(this.cast.told, 'leads').at(-1);
    if (last === undefined) throw new Error('nobody leads yet');
    return this.cast.running(last.member);
  }

  /** Who waits to lead, the next one first. */
  async inLine(): Promise<readonly string[]> {
    return (await this.#candidates()).filter(({ leads }) => !leads).map(({ memberId }) => memberId);
  }

  /** Waits for what an earlier demo may have left, if it was killed. Throws when it is somebody else's. */
  async untilFree(): Promise<void> {
    const free = this.cast.until(async () => ((await this.#candidates()).length === 0 ? true : undefined), this.#expiryMs);
    if ((await this.screen.during('waiting for the leases of an earlier demo', free)) !== undefined) return;
    throw new Error(`others campaign for "${ELECTION}" on this store: is another demo running?`);
  }

  /** Waits until both others are in line, and says so. */
  async tellLine(text: string = ''): Promise<void> {
    const line = await this.cast.until(async () => {
      const inLine = await this.inLine();
      return inLine.length > 1 ? inLine : undefined;
    }, START_WITHIN_MS);
    if (line === undefined) throw new Error(`the others were not in line within ${START_WITHIN_MS / 1_000} s`);
    this.screen.note(`${text}in line: ${names(line)}`);
  }

  /** Waits for the next leader, says who it is, and puts it down. */
  async succeed(name: ActName, { leader, named, limitMs, since, endedAt }: Expected): Promise<void> {
    const act = { name, from: leader?.member, named, limitMs };
    const from = now();
    const told = await this.screen.during('nobody is at work', this.cast.hear('leads', { withinMs: limitMs, since }));
    if (told === undefined) {
      this.acts.push({ ...act, next: undefined, vacancyMs: now() - from });
      this.screen.tell(bad('✗'), 'nobody leads');
      throw new StoryEnds();
    }
    const { member, event } = told;
    const vacancyMs = event.at - (await endedAt());
    this.acts.push({ ...act, next: { member, term: event.term }, vacancyMs });
    const after = leader === undefined ? '' : `, after ${ms(vacancyMs)} without a leader`;
    this.screen.tell(good('●'), `${who(member)} leads in term ${event.term}${after}`);
  }

  /** Time to read, and for the leader to do its job. Throws when a member crashes meanwhile. */
  async between(): Promise<void> {
    await this.cast.until(() => undefined, BETWEEN_ACTS_MS);
  }

  async #candidates(): Promise<readonly CandidateView<unknown>[]> {
    return untilAnswered(async () => this.#election.candidates());
  }
}
