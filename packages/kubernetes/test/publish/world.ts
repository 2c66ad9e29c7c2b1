/** Members of an election on a memory store, which publish on a fake API server, on one clock. */

import { Member, type Election, type IncumbentError, type Leadership } from '@incumbent/core';
import { TestCluster } from '@incumbent/memory';
import { expect } from 'vitest';

import { collectionPath, EVENTS, LEASES, PODS, type Resource } from '../../src/names.ts';
import { fields, optionalFields, textFields, type Fields } from '../../src/objects/json.ts';
import { checkPublishOptions, type PublishOptions } from '../../src/publish/options.ts';
import { Publisher } from '../../src/publish/publisher.ts';
import type { Cluster } from '../../src/store.ts';
import { FakeApiServer, type FakeRequest } from '../fake/api-server.ts';
import { DirectClient } from '../fake/direct-client.ts';

export const NAME = 'controller';
export const TTL_MS = 10_000;
export const DRAIN_MS = 1_000;
export const LEADER = `elections/${NAME}/leader`;
export const LABEL = 'example.com/leads';

/** A member of one process, with its publisher. */
export interface Publishing {
  readonly member: Member;
  readonly election: Election;
  readonly publisher: Publisher;
  readonly errors: readonly IncumbentError[];
}

/** The state of a Lease, in the words of its fields. */
export interface Shown {
  readonly holder: unknown;
  readonly transitions: unknown;
  readonly term: unknown;
}

export class PublishWorld {
  readonly cluster = new TestCluster();
  readonly api = new FakeApiServer();
  /** Every state that the Lease and the pods have had, in order. */
  readonly history: Fields[] = [];
  readonly leases: string = pathOf(LEASES);
  readonly pods: string = pathOf(PODS);
  readonly events: string = pathOf(EVENTS);
  #crashed = 0;

  constructor() {
    for (const collection of [this.leases, this.pods])
      this.api.objects.watch(collection, undefined, ({ type, object }) => {
        if (type !== 'DELETED') this.history.push(object);
      });
  }

  /** Creates a process with a pod of its name. Publishes a Lease with the name of the election. */
  join(memberId: string, options: Partial<PublishOptions> = {}, electionOptions: { readonly minTerm?: bigint } = {}): Publishing {
    const { store, options: own } = this.cluster.process(memberId);
    const member = new Member(store, { ...own, ttlMs: TTL_MS });
    const election = member.election(NAME, electionOptions);
    const errors: IncumbentError[] = [];
    const publisher = this.publish(memberId, election, { onError: (error) => errors.push(error), ...options });
    if (this.object(this.pods, memberId) === undefined) this.addPod(memberId);
    return { member, election, publisher, errors };
  }

  publish(memberId: string, election: Election, options: Partial<PublishOptions>): Publisher {
    const settings = checkPublishOptions({ lease: NAME, onError: () => {}, ...options });
    return new Publisher(this.clusterOf(memberId), election, settings);
  }

  /** The API server, as the process of this member reaches it. */
  clusterOf(memberId: string): Cluster {
    const { clock } = this.cluster.process(memberId).options;
    if (clock === undefined) throw new Error('a process without a clock');
    const client = new DirectClient(this.api, clock);
    return { client, clock, namespace: 'default', prefix: 'incumbent', disposeOnClose: () => () => {} };
  }

  /** With the label of the pod of this name. */
  joinLabelling(memberId: string, options: Partial<PublishOptions> = {}): Publishing {
    return this.join(memberId, { podLabel: { name: LABEL, value: 'yes', pod: memberId }, ...options });
  }

  async elect({ election }: Publishing): Promise<Leadership> {
    return this.cluster.run(election.campaign());
  }

  /** Ends the process of a leader. Its clock stands still, and keeps what it holds. */
  crash(memberId: string): void {
    this.cluster.crash(memberId);
    this.#crashed += 1;
  }

  /** Lets time pass until the condition holds. */
  async until(condition: () => boolean, what: string, withinMs = 60_000): Promise<void> {
    for (let passedMs = 0; !condition(); passedMs += 1) {
      if (passedMs > withinMs) throw new Error(`not within ${withinMs} ms: ${what}`);
      await this.cluster.advance(1);
    }
  }

  object(collection: string, name: string): Fields | undefined {
    const { status, body } = this.api.objects.get(`${collection}/${name}`);
    return status === 200 ? body : undefined;
  }

  /** What an operator, or another program, writes. */
  put(collection: string, object: Fields): void {
    const path = `${collection}/${String(fields(object['metadata'])['name'])}`;
    const { status } = this.api.objects.replace(collection, path, object);
    expect(status).toBe(200);
  }

  addPod(name: string, metadata: Fields = {}): void {
    this.api.objects.create(this.pods, { apiVersion: 'v1', kind: 'Pod', metadata: { name, ...metadata } });
  }

  get shown(): Shown | undefined {
    const lease = this.object(this.leases, NAME);
    return lease === undefined ? undefined : shownBy(lease);
  }

  /** The pods that have the label now. */
  get labelled(): readonly string[] {
    const { body } = this.api.objects.list(this.pods, (pod) => labelOf(pod) === 'yes');
    return Array.isArray(body['items']) ? body['items'].map((pod) => nameOf(fields(pod))) : [];
  }

  /** The Events, oldest first. */
  get eventsShown(): readonly Fields[] {
    const { body } = this.api.objects.list(this.events, () => true);
    return Array.isArray(body['items']) ? body['items'].map(fields) : [];
  }

  /** The states that the Lease has had, each other than the one before. */
  get leaseHistory(): readonly string[] {
    const states = this.history
      .filter(({ kind }) => kind === 'Lease')
      .map(shownBy)
      .map(({ holder, term }) => `${String(term)} ${String(holder)}`);
    return states.filter((state, index) => state !== states[index - 1]);
  }

  /** Which pods got the label and which lost it, in order: `+a`, `-a`. */
  get labelHistory(): readonly string[] {
    const has = new Map<string, boolean>();
    return this.history
      .filter(({ kind }) => kind === 'Pod')
      .flatMap((pod) => {
        const [name, isLabelled] = [nameOf(pod), labelOf(pod) === 'yes'];
        const before = has.get(name) ?? false;
        has.set(name, isLabelled);
        return before === isLabelled ? [] : [`${isLabelled ? '+' : '-'}${name}`];
      });
  }

  /** Withdraws everything. Nothing of the publishers may be left. */
  async close(...all: readonly Publishing[]): Promise<void> {
    await this.cluster.run(Promise.all(all.map(({ publisher }) => publisher.close())));
    await this.cluster.run(Promise.all(all.map(({ member }) => member.close())));
    await this.cluster.close();
    expect([this.cluster.clock.timers, this.cluster.clock.holds]).toEqual([0, this.#crashed]);
  }

  /** The requests that match get no answer, and are kept until the test applies them. */
  hold(matches: (request: FakeRequest) => boolean): readonly FakeRequest[] {
    const held: FakeRequest[] = [];
    this.api.intervene = (request) => {
      if (!matches(request)) return undefined;
      held.push(request);
      return 'silent';
    };
    return held;
  }

  /** The API server answers as ever again. */
  heal(): void {
    this.api.intervene = () => undefined;
  }
}

function pathOf(resource: Resource): string {
  return collectionPath('default', resource);
}

function nameOf(object: Fields): string {
  return String(fields(object['metadata'])['name']);
}

function labelOf(pod: Fields): unknown {
  return optionalFields(fields(pod['metadata'])['labels'])[LABEL];
}

function shownBy(lease: Fields): Shown {
  const { holderIdentity: holder, leaseTransitions: transitions } = optionalFields(lease['spec']);
  return { holder, transitions, term: textFields(optionalFields(fields(lease['metadata'])['annotations']))['incumbent/term'] };
}
