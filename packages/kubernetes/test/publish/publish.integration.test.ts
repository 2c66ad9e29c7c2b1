/** What members publish on a real API server, with the rights of role.yaml and no others. */

import { Member, type IncumbentError, type Store } from '@incumbent/core';
import { KEYS_GROUP, startKubernetes, type KubernetesServer, until } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { expect, it } from 'vitest';

import { openKubernetes } from '../../src/index.ts';
import { collectionPath, EVENTS, LEASES, PODS, type Resource } from '../../src/names.ts';
import { fields, optionalFields, textFields, type Fields } from '../../src/objects/json.ts';
import { checkPublishOptions } from '../../src/publish/options.ts';
import { Publisher } from '../../src/publish/publisher.ts';
import { KubernetesStore } from '../../src/store.ts';
import { KEYS } from '../harness.ts';
import { grantOnTestServer, roleRights } from '../manifests.ts';

/** Stand in for the built-in ones, which the server for tests does not have. */
const resources = { pods: inTests(PODS), events: inTests(EVENTS) };
const LABEL = 'example.com/leads';

function inTests(resource: Resource): Resource {
  return { ...resource, apiVersion: `${KEYS_GROUP}/v1` };
}

/** The rights of both Roles in role.yaml. */
function rightsOfRoles(): readonly string[] {
  return [...roleRights(), ...roleRights({ role: 'incumbent-publisher' })].map(grantOnTestServer);
}

/** One member on a store of its own. */
class Process implements AsyncDisposable {
  readonly id: string;
  readonly store: Store;
  readonly member: Member;
  readonly publisher: Publisher;
  readonly errors: IncumbentError[] = [];

  constructor(id: string, store: Store, election: string) {
    this.id = id;
    this.store = store;
    // A long drain, so that a busy machine removes the label within it.
    this.member = new Member(store, { memberId: id, ttlMs: 20_000, drainMs: 5_000 });
    if (!(store instanceof KubernetesStore)) throw new Error('a store of another kind');
    const podLabel = { name: LABEL, value: election, pod: id };
    const onError = (error: IncumbentError): void => void this.errors.push(error);
    const settings = checkPublishOptions({ lease: election, podLabel, events: true, onError });
    this.publisher = new Publisher(store.cluster, this.member.election(election), settings, resources);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.member.close();
    await this.publisher.close();
    await this.store.close();
  }
}

/** Runs one election, with a name that nobody else uses. */
class Scene {
  readonly #server: KubernetesServer;
  readonly election: string;

  constructor(server: KubernetesServer, election: string) {
    this.#server = server;
    this.election = election;
  }

  async start(name: string): Promise<Process> {
    const id = `${this.election}-${name}`;
    const { url, ca, tokens } = this.#server;
    const pods = collectionPath('default', resources.pods);
    const { apiVersion, kind } = resources.pods;
    const { status } = await this.#server.call('POST', pods, { apiVersion, kind, metadata: { name: id } });
    expect([201, 409]).toContain(status);
    const store = await openKubernetes({
      server: url,
      token: tokens.member,
      tls: { ca },
      namespace: 'default',
      prefix: this.election,
      keysResource: KEYS,
    });
    return new Process(id, store, this.election);
  }

  async spec(): Promise<Fields> {
    const { body } = await this.#server.call('GET', `${collectionPath('default', LEASES)}/${this.election}`);
    return optionalFields(optionalFields(body)['spec']);
  }

  /** The pods that have the label. */
  async labelled(): Promise<readonly unknown[]> {
    const selector = encodeURIComponent(`${LABEL}=${this.election}`);
    const { body } = await this.#server.call('GET', `${collectionPath('default', resources.pods)}?labelSelector=${selector}`);
    return itemsOf(body).map((pod) => fields(pod['metadata'])['name']);
  }

  /** The Events about the Lease: the type, the reason and the message of each, in order. */
  async events(): Promise<readonly string[]> {
    const { body } = await this.#server.call('GET', collectionPath('default', resources.events));
    return itemsOf(body)
      .filter((event) => optionalFields(event['involvedObject'])['name'] === this.election)
      .map(textFields)
      .map(({ type, reason, message }) => `${type} ${reason} ${message}`)
      .toSorted();
  }

  async shows(process: Process, term: number): Promise<void> {
    await until(
      async () => {
        const { holderIdentity, leaseTransitions } = await this.spec();
        const labelled = await this.labelled();
        return holderIdentity === process.id && leaseTransitions === term && labelled.length === 1 && labelled[0] === process.id;
      },
      { what: `${process.id} is shown` },
    );
  }
}

function itemsOf(body: unknown): readonly Fields[] {
  const { items } = fields(body);
  return Array.isArray(items) ? items.map(fields) : [];
}

await describeOnServer('publishing on a real API server', { store: 'kubernetes', start: () => startKubernetes() }, (server) => {
  it('shows a leader, its handover, and the end, by the rights of role.yaml', async () => {
    await server().grant(rightsOfRoles());
    const scene = new Scene(server(), 'publishing');
    await using a = await scene.start('a');
    await using b = await scene.start('b');
    await a.member.election(scene.election).campaign();
    await scene.shows(a, 1);
    const next = b.member.election(scene.election).campaign();
    await until(async () => (await a.member.election(scene.election).candidates()).length === 2, { what: 'b waits' });
    await a.member.shutdown();
    await next;
    // The label was removed before the term was released.
    expect(await scene.labelled()).not.toContain(a.id);
    await scene.shows(b, 2);
    await b.member.close();
    expect(await scene.labelled()).toEqual([]);
    await until(async () => (await scene.spec())['holderIdentity'] === '', { what: 'the Lease is cleared' });
    await until(async () => (await scene.events()).length === 4, { what: 'all Events are there' });
    expect(await scene.events()).toEqual([
      `Normal LeaderElected ${a.id} was elected in term 1`,
      `Normal LeaderElected ${b.id} was elected in term 2`,
      `Normal LeaderLost ${a.id} gave up term 1: memberClosed`,
      `Normal LeaderLost ${b.id} gave up term 2: memberClosed`,
    ]);
    expect([...a.errors, ...b.errors]).toEqual([]);
  });

  it.each(['list pods', 'get pods', 'patch pods', 'create events'])('needs the right to %s, and names it', async (right) => {
    const [verb, resource] = right.split(' ');
    await server().grant(rightsOfRoles().filter((each) => each !== `${verb} ${KEYS_GROUP} ${resource} default`));
    const scene = new Scene(server(), `without-${verb}-${resource}`);
    await using a = await scene.start('a');
    const leadership = await a.member.election(scene.election).campaign();
    await until(() => a.errors.length > 0, { what: 'an error' });
    expect(a.errors[0]).toMatchObject({ code: 'PERMISSION_DENIED', details: { right } });
    await until(async () => (await scene.spec())['holderIdentity'] === a.id, { what: 'the Lease shows the leader all the same' });
    expect(leadership.isValid()).toBe(true);
  });
});
