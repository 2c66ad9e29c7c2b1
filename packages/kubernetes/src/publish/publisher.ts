/** Publishes each leadership of one election of this member. */

import { type Cancel, isIncumbentError, type LeadershipEnd } from '@incumbent/core';
import { endQuietly, keepAlive, onAbort, sleep } from '@incumbent/core/adapter';

import { toStoreError } from '../errors.ts';
import { EVENTS, PODS, type Resource } from '../names.ts';
import type { Cluster } from '../store.ts';
import { EventsPart } from './events-part.ts';
import { LeasePart } from './lease-part.ts';
import type { PublishSettings } from './options.ts';
import { keepPublished, type Part, type PartContext } from './part.ts';
import { PodLabelPart } from './pod-label-part.ts';

/** The part of a `Leadership` that is used. */
export interface PublishedLeadership {
  readonly term: bigint;
  readonly memberId: string;
  readonly signal: AbortSignal;
  readonly ended: Promise<LeadershipEnd>;
  isValid(): boolean;
  delayRelease(until: Promise<unknown>): void;
}

/** The part of an `Election` that is used. */
export interface PublishedElection {
  readonly name: string;
  readonly leadership: PublishedLeadership | undefined;
  onElected(listener: (leadership: PublishedLeadership) => unknown): Cancel;
}

/** The resources of the pods and the Events. Others only in tests. */
interface PublishResources {
  readonly pods: Resource;
  readonly events: Resource;
}

/** A term is published anew so many times within the duration of its Lease. */
const RENEWALS = 3;
/** How long {@link Publisher.close} takes at most, in ms. */
const CLOSE_MS = 2_000;

export class Publisher implements AsyncDisposable {
  readonly #cluster: Cluster;
  readonly #election: string;
  readonly #settings: PublishSettings;
  readonly #resources: PublishResources;
  readonly #stops: readonly Cancel[];
  /** Aborts when what is published has to be withdrawn, whoever leads. */
  readonly #closing = new AbortController();
  /** Aborts when the time for that is over. */
  readonly #closed = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #close: Promise<void> | undefined;

  constructor(
    cluster: Cluster,
    election: PublishedElection,
    settings: PublishSettings,
    resources: PublishResources = { pods: PODS, events: EVENTS },
  ) {
    this.#cluster = cluster;
    this.#election = election.name;
    this.#settings = settings;
    this.#resources = resources;
    this.#stops = [cluster.disposeOnClose(this), election.onElected((leadership) => this.#begin(leadership))];
    if (election.leadership !== undefined) this.#begin(election.leadership);
  }

  close(): Promise<void> {
    this.#close ??= keepAlive(this.#cluster.clock, () => this.#withdrawAll());
    return this.#close;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #begin(leadership: PublishedLeadership): void {
    const { lease, leaseDurationMs: durationMs, podLabel, events } = this.#settings;
    const leasePart = new LeasePart(this.#cluster, leadership, { lease, election: this.#election, durationMs });
    void this.#run(leasePart, leadership);
    if (events) void this.#run(new EventsPart(this.#cluster, this.#resources.events, leadership, leasePart), leadership);
    if (podLabel === undefined) return;
    const labelPart = new PodLabelPart(this.#cluster, this.#resources.pods, leadership, lease, podLabel);
    // So that the label is gone before the next leader can be elected.
    leadership.delayRelease(this.#run(labelPart, leadership));
  }

  #run(part: Part, leadership: PublishedLeadership): Promise<void> {
    const leading = new AbortController();
    const stops = [leadership.signal, this.#closing.signal].map((signal) => onAbort(signal, () => endQuietly(leading)));
    const context: PartContext = {
      clock: this.#cluster.clock,
      everyMs: this.#settings.leaseDurationMs / RENEWALS,
      leading: leading.signal,
      closed: this.#closed.signal,
      report: (error) => void this.#report(error),
    };
    const running = keepPublished(part, context).then(() => {
      this.#running.delete(running);
      for (const stop of stops) stop();
    });
    this.#running.add(running);
    return running;
  }

  async #withdrawAll(): Promise<void> {
    for (const stop of this.#stops) stop();
    endQuietly(this.#closing);
    const withdrawn = new AbortController();
    const running = Promise.all(this.#running).then(() => endQuietly(withdrawn));
    await sleep(this.#cluster.clock, CLOSE_MS, withdrawn.signal);
    endQuietly(this.#closed);
    await running;
  }

  /** Never rejects: what the callback does must not end the publishing. */
  async #report(error: unknown): Promise<void> {
    try {
      await this.#settings.onError(isIncumbentError(error) ? error : toStoreError(error, 'publishing the leader'));
    } catch {
      // The option says that its errors are ignored.
    }
  }
}
