/**
 * The label of the leader's pod. An annotation of the same name says for which Lease and term the
 * label is, so that a leader knows which labels it may remove, and a former leader which not.
 */

import { type IncumbentError, StoreError } from '@incumbent/core';

import type { Resource } from '../names.ts';
import { fields, optionalFields, textFields, type Fields } from '../objects/json.ts';
import { identityOf, nameOf } from '../objects/metadata.ts';
import type { Cluster } from '../store.ts';
import { Objects } from './objects.ts';
import type { PodLabelSettings } from './options.ts';
import { foreign, overtaken, SentWrites, untilUnchanged, type Part, type PublishedTerm } from './part.ts';

/** What a pod has of the label and its annotation. */
interface LabelState {
  readonly isLabelled: boolean;
  /** The Lease of the annotation. Undefined without one. */
  readonly lease: string | undefined;
  readonly term: bigint;
  /** Whether the annotation says that the label was removed for good in its term. */
  readonly isOver: boolean;
}

export class PodLabelPart implements Part {
  readonly #pods: Objects;
  readonly #label: PodLabelSettings;
  readonly #lease: string;
  readonly #term: PublishedTerm;
  readonly #namespace: string;
  readonly #what: string;
  /** The own pod, as the server had it after the last change. */
  #known: Fields | undefined;
  readonly #sent = new SentWrites();
  /** Whether no other pod had the label of this election when it was last read. */
  #isAlone = false;

  constructor(cluster: Cluster, pods: Resource, term: PublishedTerm, lease: string, label: PodLabelSettings) {
    this.#what = `labelling the pod ${label.pod}`;
    this.#pods = new Objects(cluster, pods, this.#what);
    this.#label = label;
    this.#lease = lease;
    this.#term = term;
    this.#namespace = cluster.namespace;
  }

  /**
   * Removes the label from the pods of former leaders, and then labels the own pod. Later calls
   * read from the server's cache, and label or remove only what has changed since.
   */
  async publish(signal: AbortSignal): Promise<void> {
    const { name, value, pod: own } = this.#label;
    const query = { labelSelector: `${name}=${value}`, ...(this.#isAlone ? { resourceVersion: '0' } : {}) };
    const labelled = await this.#pods.list(query, signal);
    for (const pod of labelled) if (nameOf(pod) !== own) await this.#clear(pod, signal);
    this.#isAlone = true;
    await this.#labelOwn(
      labelled.find((pod) => nameOf(pod) === own),
      signal,
    );
  }

  /**
   * Removes the label from the own pod. Changes the annotation also if the pod has no label: a
   * request of this term may still be under way, and no longer finds the version that it names.
   */
  async withdraw(signal: AbortSignal): Promise<void> {
    if (!this.#sent.mayExist) return;
    const { pod: own } = this.#label;
    await untilUnchanged(this.#what, async () => {
      const pod = this.#known ?? (await this.#pods.get(own, signal));
      this.#known = undefined;
      if (pod === undefined) return undefined;
      const { isLabelled, lease, term, isOver } = this.#read(pod);
      if (lease === this.#lease && (term > this.#term.term || (term === this.#term.term && isOver && !isLabelled))) return undefined;
      if (isLabelled && lease !== undefined && lease !== this.#lease) return undefined;
      return (await this.#patch(pod, undefined, signal)) ?? 'changed';
    });
  }

  /** Removes the label from the pod of a former leader. */
  async #clear(found: Fields, signal: AbortSignal): Promise<void> {
    const { term } = this.#term;
    let known: Fields | undefined = found;
    await untilUnchanged(this.#what, async () => {
      const pod = known ?? (await this.#pods.get(nameOf(found), signal));
      known = undefined;
      if (pod === undefined) return undefined;
      const { isLabelled, lease, term: seen } = this.#read(pod);
      if (!isLabelled || lease !== this.#lease) return undefined;
      if (seen > term) throw this.#overtaken(pod, seen);
      if (!this.#term.isValid()) return undefined;
      return (await this.#patch(pod, undefined, signal)) ?? 'changed';
    });
  }

  async #labelOwn(found: Fields | undefined, signal: AbortSignal): Promise<void> {
    const { name, value } = this.#label;
    let known = found;
    await untilUnchanged(this.#what, async () => {
      const pod = known ?? (await this.#pods.get(this.#label.pod, signal));
      known = undefined;
      if (pod === undefined) throw this.#noPod();
      const { isLabelled, lease, term } = this.#read(pod);
      const isOurs = lease === this.#lease;
      if (isOurs && term > this.#term.term) throw this.#overtaken(pod, term);
      if (isLabelled && lease !== undefined && !isOurs)
        throw foreign(this.#what, `the label ${name} shows the leader of the Lease ${lease}. Give each election a label of its own`);
      if (isLabelled && isOurs && term === this.#term.term) return undefined;
      if (!this.#term.isValid()) return undefined;
      this.#known = await this.#sent.make(() => this.#patch(pod, value, signal));
      return this.#known ?? 'changed';
    });
  }

  #read(pod: Fields): LabelState {
    const { name, value } = this.#label;
    const metadata = fields(pod['metadata']);
    const isLabelled = textFields(optionalFields(metadata['labels']))[name] === value;
    const annotation = textFields(optionalFields(metadata['annotations']))[name] ?? '';
    const [, lease, term = '0', over] = /^(\S+) (\d{1,20})( over)?$/.exec(annotation) ?? [];
    return { isLabelled, lease, term: BigInt(term), isOver: over !== undefined };
  }

  /**
   * Sets the label, or removes it for good in this term. Undefined if the pod has changed since it
   * was read.
   */
  #patch(pod: Fields, value: string | undefined, signal: AbortSignal): Promise<Fields | undefined> {
    const { name } = this.#label;
    const annotation = `${this.#lease} ${this.#term.term}${value === undefined ? ' over' : ''}`;
    const metadata = {
      resourceVersion: identityOf(pod).version,
      labels: { [name]: value ?? null },
      annotations: { [name]: annotation },
    };
    return this.#pods.patch(nameOf(pod), { metadata }, signal);
  }

  #overtaken(pod: Fields, seen: bigint): IncumbentError {
    const remedy = `remove the annotation ${this.#label.name} from the pod ${nameOf(pod)}`;
    return overtaken(this.#what, { term: this.#term.term, seen, remedy });
  }

  #noPod(): StoreError {
    const message = `kubernetes ${this.#what}: there is no such pod in the namespace ${this.#namespace}. Pass its name as podLabel.pod`;
    return new StoreError('STORE_FAILED', 'refused', message);
  }
}
