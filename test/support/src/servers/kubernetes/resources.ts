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

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const LISTS = [
  '/apis/coordination.k8s.io/v1/namespaces/default/leases?limit=1',
  `/apis/${KEYS_GROUP}/v1/namespaces/default/configmaps?limit=1`,
];

/** Defines the resources if they are not. Resolves with whether the server serves them by now. */
export async function serveResources(api: ApiAddress): Promise<boolean> {
  for (const resource of [leases, configMaps]) {
    const { status } = await callApi(api, 'POST', DEFINITIONS, resource);
    if (status !== 201 && status !== 409) return false;
  }
  const answers = await Promise.all(LISTS.map((list) => callApi(api, 'GET', list)));
  return answers.every(({ status }) => status === 200);
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
