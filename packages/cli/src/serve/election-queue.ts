/**
 * The candidacies of one election at this sidecar. They share one candidate in the store, so the
 * store sees the cost of one member. Each leadership belongs to one candidacy: the one that waited
 * longest. A change between two candidacies is a change of leaders like any other: the term ends,
 * its keys are released, and the sidecar joins the end of the queue in the store. So terms rise,
 * and candidates of other processes are not passed over.
 */

import { type Election, type Leadership, isIncumbentError } from '@incumbent/core';

import type { Candidacy } from './candidacy.ts';

export class ElectionQueue {
  readonly #election: Election;
  readonly #waiting: Candidacy[] = [];
  #leads: Candidacy | undefined;
  /** Aborts when no candidacy waits any more. Undefined while there is no campaign. */
  #campaign: AbortController | undefined;
  #isRunning = false;

  constructor(election: Election) {
    this.#election = election;
  }

  /** The candidacy that leads, or that led in the last term of this sidecar. */
  get leads(): Candidacy | undefined {
    return this.#leads;
  }

  /** Whether it campaigns, or a term of this sidecar is not released yet. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  join(candidacy: Candidacy): void {
    this.#waiting.push(candidacy);
    if (!this.#isRunning) void this.#run();
  }

  leave(candidacy: Candidacy): void {
    const index = this.#waiting.indexOf(candidacy);
    if (index !== -1) this.#waiting.splice(index, 1);
    if (this.#waiting.length === 0) this.#campaign?.abort();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      const leadership = await this.#elect();
      if (leadership === undefined) continue;
      const candidacy = this.#waiting.shift();
      // All candidacies have left while the claim was under way.
      if (candidacy === undefined) await leadership.resign();
      else await this.#lead(candidacy, leadership);
    }
    this.#isRunning = false;
  }

  /** Undefined if the campaign was given up, or has failed for good. */
  async #elect(): Promise<Leadership | undefined> {
    const campaign = new AbortController();
    this.#campaign = campaign;
    try {
      return await this.#election.campaign({ signal: campaign.signal });
    } catch (error) {
      if (!campaign.signal.aborted) this.#fail(error);
      return undefined;
    } finally {
      this.#campaign = undefined;
    }
  }

  #fail(error: unknown): void {
    for (const candidacy of this.#waiting.splice(0)) {
      if (isIncumbentError(error, 'MEMBER_CLOSED')) candidacy.end('closing', `${error.code}: ${error.message}`);
      else candidacy.fail(error);
    }
  }

  async #lead(candidacy: Candidacy, leadership: Leadership): Promise<void> {
    this.#leads = candidacy;
    await candidacy.lead(leadership);
    this.#leads = undefined;
    // The time for the work to stop is over. Another member may lead before the work has stopped.
    void candidacy.workStopped().then(() => {
      if (!candidacy.isOver) this.join(candidacy);
    });
  }
}
