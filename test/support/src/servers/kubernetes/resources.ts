/** The custom resources of the API server, which has no types of its own. */

import { callApi, type ApiAddress } from './api.ts';
import { KEYS_GROUP } from './types.ts';

/** As the built-in type: exactly six digits of the second's fraction. */
const MICRO_TIME = { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{6}Z$' };
const COUNT = { type: 'integer', format: 'int32', minimum: 0 };

const leases = definition('coordination.k8s.io', 'leases', 'Lease', {
  spec: {
    type: 'object',
    properties: {
      holderIdentity: { type: 'string' },
      leaseDurationSeconds: { ...COUNT, minimum: 1 },
      acquireTime: MICRO_TIME,
      renewTime: MICRO_TIME,
      leaseTransitions: COUNT,
      strategy: { type: 'string' },
      preferredHolder: { type: 'string' },
    },
  },
});

const configMaps = definition(KEYS_GROUP, 'configmaps', 'ConfigMap', {
  data: { type: 'object', additionalProperties: { type: 'string' } },
});

const pods = definition(KEYS_GROUP, 'pods', 'Pod', {});

const TEXT = { type: 'string' };
const events = definition(KEYS_GROUP, 'events', 'Event', {
  involvedObject: { type: 'object', additionalProperties: TEXT },
  source: { type: 'object', additionalProperties: TEXT },
  reason: TEXT,
  message: TEXT,
  type: TEXT,
  firstTimestamp: { ...TEXT, format: 'date-time' },
  lastTimestamp: { ...TEXT, format: 'date-time' },
  count: COUNT,
  reportingComponent: TEXT,
  reportingInstance: TEXT,
});

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** An object of each resource, for a first write. */
const probes = [
  {
    collection: '/apis/coordination.k8s.io/v1/namespaces/default/leases',
    object: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'probe' }, spec: { leaseDurationSeconds: 1 } },
  },
  {
    collection: `/apis/${KEYS_GROUP}/v1/namespaces/default/configmaps`,
    object: { apiVersion: `${KEYS_GROUP}/v1`, kind: 'ConfigMap', metadata: { name: 'probe' }, data: {} },
  },
  {
    collection: `/apis/${KEYS_GROUP}/v1/namespaces/default/pods`,
    object: { apiVersion: `${KEYS_GROUP}/v1`, kind: 'Pod', metadata: { name: 'probe' } },
  },
  {
    collection: `/apis/${KEYS_GROUP}/v1/namespaces/default/events`,
    object: { apiVersion: `${KEYS_GROUP}/v1`, kind: 'Event', metadata: { name: 'probe' } },
  },
] as const;

/** Defines the resources if they are not. Resolves with whether the server serves them by now. */
export async function serveResources(api: ApiAddress): Promise<boolean> {
  for (const resource of [leases, configMaps, pods, events]) {
    const { status } = await callApi(api, 'POST', DEFINITIONS, resource);
    if (status !== 201 && status !== 409) return false;
  }
  const served = await Promise.all(probes.map((probe) => serves(api, probe)));
  return served.every(Boolean);
}

/**
 * Whether the server lists, writes, watches and deletes objects of the resource. A server that has
 * just started may refuse some of these while it serves the others.
 */
async function serves(api: ApiAddress, { collection, object }: (typeof probes)[number]): Promise<boolean> {
  if ((await callApi(api, 'GET', `${collection}?limit=1`)).status !== 200) return false;
  const { status: created } = await callApi(api, 'POST', collection, object);
  if (created !== 201 && created !== 409) return false;
  const { status: watched } = await callApi(api, 'GET', `${collection}?watch=true&timeoutSeconds=1`);
  const { status: deleted } = await callApi(api, 'DELETE', `${collection}/probe`);
  return watched === 200 && (deleted === 200 || deleted === 404);
}

function definition(group: string, plural: string, kind: string, properties: object): object {
  const schema = { openAPIV3Schema: { type: 'object', properties } };
  // The server protects the names of Kubernetes' own groups from accidents.
  const annotations = { 'api-approved.kubernetes.io': 'unapproved, stands in for the built-in resource in tests' };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, ...(group.endsWith('.k8s.io') ? { annotations } : {}) },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
}
