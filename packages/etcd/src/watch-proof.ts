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
  #awaited: AwaitedProof | undefined;
  #nextProof: NodeJS.Timeout | undefined;

  /** `onUnproven` runs when a proof was not given in time, after `stop`. */
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
    this.#awaited?.onReported(this.#reportedRevision);
  }

  /** Asks for a proof now, unless one is awaited already. */
  prove(): void {
    if (this.#open === undefined || this.#awaited !== undefined) return;
    clearTimeout(this.#nextProof);
    const toReach = max(this.#context.revision(), this.#minRevision);
    this.#awaited = new AwaitedProof(this.#context, this.#open, toReach, (proven) => this.#onOver(proven));
    this.#awaited.begin(this.#reportedRevision);
  }

  /** Asks for no more proofs. Idempotent. */
  stop(): void {
    this.#open = undefined;
    clearTimeout(this.#nextProof);
    this.#awaited?.end();
    this.#awaited = undefined;
  }

  #proveLater(): void {
    this.#nextProof = setTimeout(() => this.prove(), PROVE_EVERY_MS).unref();
  }

  #onOver(proven: boolean): void {
    if (proven) {
      this.#awaited = undefined;
      return this.#proveLater();
    }
    this.stop();
    this.#onUnproven();
  }
}

/** One proof that the member must give now. */
class AwaitedProof {
  readonly #context: WatchProofContext;
  readonly #open: OpenStream;
  readonly #onOver: (proven: boolean) => void;
  /** The revision that the member must report. */
  #revisionToReach: bigint;
  #reportedRevision = 0n;
  /** The read of the proof. Undefined once the member has served it. */
  #reading: AbortController | undefined = new AbortController();
  #over = false;
  #deadline: NodeJS.Timeout | undefined;
  #compareSoon: NodeJS.Timeout | undefined;
  #readAgain: NodeJS.Timeout | undefined;
  #askAgain: NodeJS.Timeout | undefined;

  /** `onOver` runs once, unless `end` is called before. */
  constructor(context: WatchProofContext, open: OpenStream, revisionToReach: bigint, onOver: (proven: boolean) => void) {
    this.#context = context;
    this.#open = open;
    this.#revisionToReach = revisionToReach;
    this.#onOver = onOver;
  }

  /**
   * Asks for the read, and for progress unless the member has already reported the revision. If
   * nothing was written since, it has, and etcd 3.5.30 would not answer.
   */
  begin(reportedRevision: bigint): void {
    this.#read();
    this.onReported(reportedRevision);
    this.#compareSoon = setTimeout(() => void this.#compareWithAnotherMember(), COMPARE_AFTER_MS).unref();
    this.#deadline = setTimeout(() => {
      // Time to process what has arrived.
      this.#deadline = setTimeout(() => this.#finish(false), GRACE_MS).unref();
    }, PROVE_WITHIN_MS).unref();
  }

  onReported(revision: bigint): void {
    this.#reportedRevision = revision;
    this.#check();
  }

  /** Ends the wait. Idempotent. */
  end(): void {
    this.#over = true;
    this.#reading?.abort();
    for (const timer of [this.#deadline, this.#compareSoon, this.#readAgain, this.#askAgain]) clearTimeout(timer);
  }

  #finish(proven: boolean): void {
    this.end();
    this.#onOver(proven);
  }

  /** Reads again after a failure, which is normal while the cluster elects its leader. */
  readonly #read = (): void => {
    if (this.#reading === undefined) return;
    this.#context.proveMember(this.#open, this.#reading.signal).then(
      (revision) => {
        if (this.#over) return;
        this.#reading = undefined;
        this.#revisionToReach = max(this.#revisionToReach, revision);
        this.#check();
      },
      () => {
        if (!this.#over) this.#readAgain = setTimeout(this.#read, ASK_AGAIN_MS).unref();
      },
    );
  };

  /** Asks until an answer completes the proof. While a watch catches up, there may be no answer. */
  readonly #requestProgress = (): void => {
    this.#open.stream.send(encodeProgressRequest());
    this.#askAgain = setTimeout(this.#requestProgress, ASK_AGAIN_MS).unref();
  };

  /** Ends the wait if the proof is complete, or asks for what is missing. */
  #check(): void {
    if (this.#reportedRevision < this.#revisionToReach) {
      if (this.#askAgain === undefined) this.#requestProgress();
      return;
    }
    clearTimeout(this.#askAgain);
    this.#askAgain = undefined;
    if (this.#reading === undefined) this.#finish(true);
  }

  /**
   * Ends the wait if the cluster has changed without this member. Otherwise the watches have missed
   * nothing.
   */
  async #compareWithAnotherMember(): Promise<void> {
    // If no read is late, the member serves requests. It only lags behind, and will catch up.
    if (this.#reading === undefined) return;
    const elsewhere = await this.#context.revisionElsewhere(this.#open, this.#reading.signal).catch(() => 0n);
    if (!this.#over && this.#reading !== undefined && elsewhere > this.#reportedRevision) this.#finish(false);
  }
}

/** The later one of two revisions. */
function max(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
