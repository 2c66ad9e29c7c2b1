/**
 * What the store relies on in the answers of an API server. The real server and the fake one both
 * have to give these answers, so the fake cannot drift.
 */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

import { fields, optionalFields, text, type Fields } from '../src/objects/json.ts';
import { KEYS } from './harness.ts';

/** Sends one request as the administrator. A body that is no JSON object is text. */
type Call = (method: string, path: string, body?: unknown) => Promise<{ readonly status: number; readonly body: unknown }>;

export interface Exchange {
  readonly name: string;
  run(call: Call): Promise<void>;
}

const MAPS = `/apis/${KEYS.apiVersion}/namespaces/default/configmaps`;
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

/** An object with one line of data that nobody else has. */
class TestMap {
  readonly name = `exchange-${randomUUID()}`;
  readonly path = `${MAPS}/${this.name}`;
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  async create(line: string): Promise<Fields> {
    const { status, body } = await this.#call('POST', MAPS, this.body(line));
    assert.equal(status, 201);
    return fields(body);
  }

  body(line: string, metadata: Fields = {}): Fields {
    const labels = { exchange: this.name };
    return { apiVersion: KEYS.apiVersion, kind: KEYS.kind, metadata: { name: this.name, labels, ...metadata }, data: { line } };
  }

  /** Changes the line of this state of the object. */
  put(state: Fields, line: string): ReturnType<Call> {
    return this.#call('PUT', this.path, { ...state, data: { line } });
  }

  delete(preconditions: Fields): ReturnType<Call> {
    return this.#call('DELETE', this.path, { apiVersion: 'v1', kind: 'DeleteOptions', preconditions });
  }
}

function metadataOf(object: unknown): Fields {
  return fields(fields(object)['metadata']);
}

function versionOf(object: unknown): string {
  return text(metadataOf(object), 'resourceVersion');
}

function reasonOf(body: unknown): unknown {
  return optionalFields(body)['reason'];
}

/** The types of the events of a watch that has ended, and the lines of their objects. */
function eventsIn(body: unknown): readonly (readonly [type: unknown, line: unknown])[] {
  const events: readonly unknown[] =
    typeof body === 'string'
      ? body
          .trim()
          .split('\n')
          .filter((line) => line !== '')
          .map((line): unknown => JSON.parse(line))
      : [body];
  return events.map((event) => {
    const { type, object } = fields(event);
    return [type, optionalFields(fields(object)['data'])['line']];
  });
}

export const exchanges: readonly Exchange[] = [
  {
    name: 'an object has a uid and a version, and a change gives it another version',
    async run(call) {
      const map = new TestMap(call);
      const first = await map.create('1');
      const { status, body } = await map.put(first, '2');
      assert.equal(status, 200);
      assert.equal(metadataOf(body)['uid'], metadataOf(first)['uid']);
      assert.notEqual(versionOf(body), versionOf(first));
      const read = await call('GET', map.path);
      assert.deepEqual([read.status, versionOf(read.body), fields(read.body)['data']], [200, versionOf(body), { line: '2' }]);
    },
  },
  {
    name: 'a change that changes nothing leaves the version as it is',
    async run(call) {
      const map = new TestMap(call);
      const first = await map.create('1');
      const { status, body } = await map.put(first, '1');
      assert.deepEqual([status, versionOf(body)], [200, versionOf(first)]);
    },
  },
  {
    name: 'a change with one empty entry of managed fields removes them',
    async run(call) {
      const map = new TestMap(call);
      const first = await map.create('1');
      const body = { ...map.body('2'), metadata: { ...metadataOf(first), managedFields: [{}] } };
      const { status } = await call('PUT', map.path, body);
      const { managedFields } = metadataOf((await call('GET', map.path)).body);
      assert.deepEqual([status, managedFields], [200, undefined]);
    },
  },
  {
    name: 'an absent object is 404 with a reason, for reads, changes and deletions',
    async run(call) {
      const map = new TestMap(call);
      const made = await map.create('1');
      await map.delete({});
      const answers = [await call('GET', map.path), await map.put(made, '2'), await map.delete({})];
      const reasons = answers.map(({ status, body }) => [status, reasonOf(body)]);
      // A change names a uid, so the server may also answer that the object is another one.
      assert.deepEqual(
        [reasons[0], reasons[2]],
        [
          [404, 'NotFound'],
          [404, 'NotFound'],
        ],
      );
      assert.ok(answers[1]?.status === 404 || answers[1]?.status === 409, JSON.stringify(answers[1]));
    },
  },
  {
    name: 'a second object of one name is refused',
    async run(call) {
      const map = new TestMap(call);
      await map.create('1');
      const { status, body } = await call('POST', MAPS, map.body('2'));
      assert.deepEqual([status, reasonOf(body)], [409, 'AlreadyExists']);
    },
  },
  {
    name: 'of 20 changes of one state at the same time, one is applied and the others are conflicts',
    async run(call) {
      const map = new TestMap(call);
      const first = await map.create('0');
      const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => map.put(first, String(index + 1))));
      const refused = answers.filter(({ status }) => status !== 200);
      assert.deepEqual(
        refused.map(({ status, body }) => [status, reasonOf(body)]),
        Array.from({ length: 19 }, () => [409, 'Conflict']),
      );
    },
  },
  {
    name: 'a change with the uid of a former object of the same name is refused',
    async run(call) {
      const map = new TestMap(call);
      const former = await map.create('1');
      await map.delete({});
      const next = await map.create('2');
      const stale = { ...former, metadata: { ...metadataOf(former), resourceVersion: versionOf(next) } };
      const { status } = await map.put(stale, '3');
      assert.equal(status, 409);
    },
  },
  {
    name: 'a deletion is applied only to the uid and the version that it names',
    async run(call) {
      const map = new TestMap(call);
      const first = await map.create('1');
      const { uid } = metadataOf(first);
      const second = (await map.put(first, '2')).body;
      const statuses = [
        (await map.delete({ uid: randomUUID() })).status,
        (await map.delete({ uid, resourceVersion: versionOf(first) })).status,
        (await map.delete({ uid, resourceVersion: versionOf(second) })).status,
        (await map.delete({ uid, resourceVersion: versionOf(second) })).status,
      ];
      assert.deepEqual(statuses, [409, 409, 200, 404]);
    },
  },
  {
    name: 'a Lease needs exactly six digits after the second',
    async run(call) {
      const lease = (renewTime: string): object => ({
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: `exchange-${randomUUID()}` },
        spec: { leaseDurationSeconds: 1, renewTime },
      });
      const refused = await call('POST', LEASES, lease('2026-01-01T00:00:00.000Z'));
      const created = await call('POST', LEASES, lease('2026-01-01T00:00:00.000000Z'));
      assert.deepEqual([refused.status, reasonOf(refused.body), created.status], [422, 'Invalid', 201]);
      await call('DELETE', `${LEASES}/${text(metadataOf(created.body), 'name')}`);
    },
  },
  {
    name: 'a merge patch changes what it names, and removes what is null',
    async run(call) {
      const map = new TestMap(call);
      const first = await map.create('1');
      const { resourceVersion } = metadataOf(first);
      const patch = { metadata: { resourceVersion, labels: { exchange: null, other: 'a' }, annotations: { note: 'b' } } };
      const { status, body } = await call('PATCH', map.path, patch);
      const { labels, annotations } = metadataOf(body);
      assert.deepEqual([status, labels, annotations, fields(body)['data']], [200, { other: 'a' }, { note: 'b' }, { line: '1' }]);
      assert.notEqual(versionOf(body), versionOf(first));
    },
  },
  {
    name: 'a merge patch is applied only to the version that it names, and to an object that is there',
    async run(call) {
      const map = new TestMap(call);
      const first = await map.create('1');
      await map.put(first, '2');
      const patch = { metadata: { resourceVersion: versionOf(first), labels: { other: 'a' } } };
      const stale = await call('PATCH', map.path, patch);
      await map.delete({});
      const absent = await call('PATCH', map.path, { metadata: { labels: { other: 'a' } } });
      assert.deepEqual([stale.status, reasonOf(stale.body)], [409, 'Conflict']);
      assert.deepEqual([absent.status, reasonOf(absent.body)], [404, 'NotFound']);
    },
  },
  {
    name: 'a Lease may have an empty holder, and keeps its annotations',
    async run(call) {
      const metadata = { name: `exchange-${randomUUID()}`, annotations: { note: '9007199254740993' } };
      const spec = { holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 2_147_483_647 };
      const created = await call('POST', LEASES, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec });
      const read = await call('GET', `${LEASES}/${metadata.name}`);
      assert.deepEqual([created.status, fields(read.body)['spec']], [201, spec]);
      assert.deepEqual(metadataOf(read.body)['annotations'], metadata.annotations);
      await call('DELETE', `${LEASES}/${metadata.name}`);
    },
  },
  {
    name: 'a list can be limited to the objects with a label, also from the cache',
    async run(call) {
      const [map, other] = [new TestMap(call), new TestMap(call)];
      await map.create('1');
      await other.create('2');
      const { body } = await call('GET', `${MAPS}?labelSelector=exchange%3D${map.name}`);
      const { items } = fields(body);
      assert.deepEqual(Array.isArray(items) && items.map((item) => metadataOf(item)['name']), [map.name]);
      const cached = await call('GET', `${MAPS}?labelSelector=exchange%3D${map.name}&resourceVersion=0`);
      assert.ok(cached.status === 200 && Array.isArray(fields(cached.body)['items']));
    },
  },
  {
    name: 'a watch from a version shows every later change of the object, and ends in time',
    async run(call) {
      const [map, other] = [new TestMap(call), new TestMap(call)];
      const first = await map.create('1');
      const watch = `${MAPS}?watch=true&timeoutSeconds=2&fieldSelector=metadata.name%3D${map.name}&resourceVersion=${versionOf(first)}`;
      const watched = call('GET', watch);
      const second = fields((await map.put(first, '2')).body);
      await other.create('other');
      await map.put(second, '3');
      await map.delete({});
      const { status, body } = await watched;
      assert.equal(status, 200);
      assert.deepEqual(eventsIn(body), [
        ['MODIFIED', '2'],
        ['MODIFIED', '3'],
        ['DELETED', '3'],
      ]);
    },
  },
  {
    name: 'a watch without a version begins with the object as it is',
    async run(call) {
      const map = new TestMap(call);
      await map.create('1');
      const { body } = await call('GET', `${MAPS}?watch=true&timeoutSeconds=1&labelSelector=exchange%3D${map.name}`);
      assert.deepEqual(eventsIn(body), [['ADDED', '1']]);
    },
  },
];
