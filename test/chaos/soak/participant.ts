import { Member, openStore, type Leadership, type Store } from 'incumbent';

/** Long, because the soak does not test losses: a busy machine must not end all leaderships. */
const TTL_MS = 30_000;

/**
 * One member with a store of its own, which campaigns in its elections for as long as it exists.
 */
export class Participant {
  readonly store: Store;
  readonly elections: readonly string[];
  /** The leaderships that it holds. */
  readonly held = new Map<string, Leadership>();
  /**
   * How often it lost a leadership. A busy machine may miss a renewal, which leaves nothing behind.
   */
  losses = 0;
  readonly #memberId: string;
  readonly #complain: (problem: string) => void;
  readonly #campaigns = new Map<string, AbortController>();
  #member: Member;

  private constructor(store: Store, memberId: string, elections: readonly string[], complain: (problem: string) => void) {
    this.store = store;
    this.#memberId = memberId;
    this.elections = elections;
    this.#complain = complain;
    this.#member = new Member(store, { memberId, ttlMs: TTL_MS });
  }

  static async open(
    url: string,
    memberId: string,
    elections: readonly string[],
    complain: (problem: string) => void,
  ): Promise<Participant> {
    const participant = new Participant(await openStore(url), memberId, elections, complain);
    participant.#joinAll();
    return participant;
  }

  /** Leaves in good order, and returns as another incarnation. */
  async restart(): Promise<void> {
    await this.#member.shutdown();
    this.#campaigns.clear();
    this.#member = new Member(this.store, { memberId: this.#memberId, ttlMs: TTL_MS });
    this.#joinAll();
  }

  /** Gives up one election, whether campaigning or leading, and campaigns again. */
  abandon(name: string): void {
    this.#campaigns.get(name)?.abort();
    this.#join(name);
  }

  async close(): Promise<void> {
    await this.#member.shutdown({ handover: false });
    await this.store.close();
  }

  #joinAll(): void {
    for (const name of this.elections) this.#join(name);
  }

  #join(name: string): void {
    const campaign = new AbortController();
    this.#campaigns.set(name, campaign);
    void this.#lead(name, campaign.signal, this.#member);
  }

  async #lead(name: string, signal: AbortSignal, member: Member): Promise<void> {
    while (!signal.aborted && member.state !== 'closed') {
      try {
        await member.election(name).lead((leadership) => this.#work(name, leadership), { signal });
      } catch (error) {
        if (signal.aborted) return;
        this.#complain(`${this.#memberId} ${name}: ${String(error)}`);
        return;
      }
    }
  }

  async #work(name: string, leadership: Leadership): Promise<void> {
    this.held.set(name, leadership);
    const { lost } = await leadership.ended;
    if (this.held.get(name) === leadership) this.held.delete(name);
    if (lost) this.losses += 1;
  }
}
