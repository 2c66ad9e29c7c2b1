/**
 * Finds out whether a member still reports changes to its stream of watches. A member whose disk
 * hangs, or that has lost the cluster, may answer pings and renew leases all the same.
 */

import { GRACE_MS, PROVE_EVERY_MS, PROVE_WITHIN_MS } from '@incumbent/network';

import type { OpenStream } from './client/client.ts';
import { encodeProgressRequest } from './protocol/watch.ts';

/** After so many ms without a proof, another member is asked for the revision of the cluster. */
const COMPARE_AFTER_MS = 1_000;
/** The pause after a failed read, and between two requests for progress, in ms. */
const ASK_AGAIN_MS = 250;

export interface WatchProofContext {
  /** The last revision that a linearizable call has shown. The member must reach this revision. */
  revision(): bigint;
  /** Resolves with the revision of a linearizable read that the member has served. */
  proveMember(open: OpenStream, signal: AbortSignal): Promise<bigint>;
  /** Sends the next requests to another member. Resolves with the revision of a read there. */
  revisionElsewhere(open: OpenStream, signal: AbortSignal): Promise<bigint>;
}

/**
 * Asks for a proof every few seconds. For a proof, the member must serve a linearizable read, and
 * must have reported the revision of that read on the stream.
 */
export class WatchProof {
  readonly #context: WatchProofContext;
  readonly #onUnproven: () => void;
  /** Undefined before `start` and after `stop`. */
  #open: OpenStream | undefined;
  /** Every proof must show at least this revision. */
  #minRevision = 0n;
  /** The highest revision that the member has reported on the stream. */
  #reportedRevision = 0n;
  /** The revision that the awaited proof must show. Undefined while no proof is awaited. */
  #revisionToReach: bigint | undefined;
  /** The read of the awaited proof. Undefined once the member has served it. */
  #reading: AbortController | undefined;
  #nextProof: NodeJS.Timeout | undefined;
  #deadline: NodeJS.Timeout | undefined;
  /** After the deadline, time to process what has arrived. */
  #grace: NodeJS.Timeout | undefined;
  #compareSoon: NodeJS.Timeout | undefined;
  #readAgain: NodeJS.Timeout | undefined;
  #askAgain: NodeJS.Timeout | undefined;

  /** `onUnproven` runs when a proof was not given in time. It must call `stop`. */
  constructor(context: WatchProofContext, onUnproven: () => void) {
    this.#context = context;
    this.#onUnproven = onUnproven;
  }

  /** Asks for proofs from now on, the first one after a pause. */
  start(open: OpenStream): void {
    this.#open = open;
    this.#proveLater();
  }

  /** Every later proof must show at least this revision. */
  mustReach(revision: bigint): void {
    this.#minRevision = max(this.#minRevision, revision);
  }

  /** The member has reported a revision on the stream. */
  onReported(revision: bigint): void {
    this.#reportedRevision = max(this.#reportedRevision, revision);
    this.#checkProof();
  }

  /**
   * Asks for a proof now, unless one is awaited already. If nothing was written since, the member
   * has already reported this revision, and the stream does not ask for progress. etcd 3.5.30 would
   * not answer.
   */
  prove(): void {
    if (this.#open === undefined || this.#revisionToReach !== undefined) return;
    clearTimeout(this.#nextProof);
    this.#revisionToReach = max(this.#context.revision(), this.#minRevision);
    this.#reading = new AbortController();
    this.#read();
    this.#checkProof();
    this.#compareSoon = setTimeout(() => void this.#compareWithAnotherMember(), COMPARE_AFTER_MS).unref();
    this.#deadline = setTimeout(() => {
      this.#grace = setTimeout(this.#onUnproven, GRACE_MS).unref();
    }, PROVE_WITHIN_MS).unref();
  }

  /** Asks for no more proofs. Idempotent. */
  stop(): void {
    this.#open = undefined;
    this.#revisionToReach = undefined;
    this.#reading?.abort();
    this.#reading = undefined;
    clearTimeout(this.#nextProof);
    clearTimeout(this.#readAgain);
    this.#clearProofTimers();
  }

  #proveLater(): void {
    this.#nextProof = setTimeout(() => this.prove(), PROVE_EVERY_MS).unref();
  }

  /** Reads again after a failure, which is normal while the cluster elects its leader. */
  readonly #read = (): void => {
    const [open, reading] = [this.#open, this.#reading];
    if (open === undefined || reading === undefined) return;
    this.#context.proveMember(open, reading.signal).then(
      (revision) => {
        if (this.#reading !== reading || this.#revisionToReach === undefined) return;
        this.#reading = undefined;
        this.#revisionToReach = max(this.#revisionToReach, revision);
        this.#checkProof();
      },
      () => {
        if (this.#reading === reading) this.#readAgain = setTimeout(this.#read, ASK_AGAIN_MS).unref();
      },
    );
  };

  /** Asks until an answer completes the proof. While a watch catches up, there may be no answer. */
  readonly #requestProgress = (): void => {
    this.#open?.stream.send(encodeProgressRequest());
    this.#askAgain = setTimeout(this.#requestProgress, ASK_AGAIN_MS).unref();
  };

  /** Ends the wait for a proof if it is complete, or asks for what is missing. */
  #checkProof(): void {
    if (this.#revisionToReach === undefined) return;
    if (this.#reportedRevision < this.#revisionToReach) {
      if (this.#askAgain === undefined) this.#requestProgress();
      return;
    }
    clearTimeout(this.#askAgain);
    this.#askAgain = undefined;
    if (this.#reading !== undefined) return;
    this.#revisionToReach = undefined;
    this.#clearProofTimers();
    this.#proveLater();
  }

  /**
   * Ends the wait for a proof if the cluster has changed without this member. Otherwise the watches
   * have missed nothing.
   */
  async #compareWithAnotherMember(): Promise<void> {
    const [open, reading] = [this.#open, this.#reading];
    // If no read is late, the member serves requests. It only lags behind, and will catch up.
    if (open === undefined || reading === undefined) return;
    const elsewhere = await this.#context.revisionElsewhere(open, reading.signal).catch(() => 0n);
    if (this.#reading === reading && elsewhere > this.#reportedRevision) this.#onUnproven();
  }

  #clearProofTimers(): void {
    for (const timer of [this.#deadline, this.#grace, this.#compareSoon, this.#askAgain]) clearTimeout(timer);
  }
}

/** The later one of two revisions. */
function max(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
