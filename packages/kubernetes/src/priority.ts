/**
 * How the API server ranks the renewals of this process, for people: a part of `inspect`.
 *
 * A server with API Priority and Fairness puts each request into a flow schema and a priority
 * level, and its response has the uids of both. Each level has its own share of the server, and its
 * own queues.
 */

import type { StoreFact } from '@incumbent/core';
import type { AttemptOptions } from '@incumbent/network';

import type { Client } from './client/client.ts';
import { isNotPermitted, isNotServed } from './errors.ts';
import { LEASES, leasesPath, newLeaseName, type Names } from './names.ts';
import { fields, textFields } from './objects/json.ts';
import { identityOf, nameOf } from './objects/metadata.ts';

const FLOW_CONTROL = '/apis/flowcontrol.apiserver.k8s.io/v1';
/** The levels of the default configuration that serve all ordinary workloads. */
const SHARED = new Set(['catch-all', 'global-default', 'workload-low']);
const MANIFEST = 'https://github.com/incumbent/incumbent/blob/main/examples/kubernetes/flow-schema.yaml';
/** A uid that no object has. */
const NO_UID = '00000000-0000-0000-0000-000000000000';
/**
 * Responses to a renewal that changes nothing. They have the headers, too: 400 comes from a webhook
 * that supports no dry run, and 422 from a server that requires a resourceVersion.
 */
const REFUSALS = [400, 403, 404, 409, 422];

export async function inspectPriority(client: Client, names: Names, options: AttemptOptions): Promise<StoreFact> {
  const { level, flowSchema } = await classifyRenewal(client, names, options);
  if (level === undefined || flowSchema === undefined)
    return { what: 'priority', detail: 'none: the API server puts requests into no priority level' };
  const found = await Promise.all([
    findName(client, 'prioritylevelconfigurations', level, options),
    findName(client, 'flowschemas', flowSchema, options),
  ]);
  const [levelName = level, schemaName = flowSchema] = found.map(({ name }) => name);
  const reasons = found.flatMap(({ why }) => why ?? []);
  const parts = [
    `level ${levelName}, flow schema ${schemaName}`,
    ...(reasons.length === 0 ? [] : [`names not known: ${reasons.join(', ')}`]),
    ...(SHARED.has(levelName) ? [`other workloads share this level and can delay renewals: ${MANIFEST} chooses another one`] : []),
  ];
  return { what: 'priority', detail: parts.join('; ') };
}

/** The uids of what the server has put a request into. */
interface Classification {
  readonly level: string | undefined;
  readonly flowSchema: string | undefined;
}

/**
 * Sends a renewal of a lease that does not exist, which changes nothing. The server classifies a
 * request before it looks at the rights of the user and at the object.
 */
async function classifyRenewal(client: Client, names: Names, options: AttemptOptions): Promise<Classification> {
  const { apiVersion, kind } = LEASES;
  const name = newLeaseName(names);
  // A server may create what it is asked to change, but not under a uid.
  const body = { apiVersion, kind, metadata: { name, uid: NO_UID }, spec: { leaseDurationSeconds: 1 } };
  const path = `${leasesPath(names)}/${name}`;
  const { headers } = await client.request({ method: 'PUT', path, query: { dryRun: 'All' }, body, accept: REFUSALS }, options);
  const { 'x-kubernetes-pf-prioritylevel-uid': level, 'x-kubernetes-pf-flowschema-uid': flowSchema } = textFields(headers);
  return { level, flowSchema };
}

/** The name of the object with this uid, or why the name is not known. */
async function findName(
  client: Client,
  resource: string,
  uid: string,
  options: AttemptOptions,
): Promise<{ readonly name?: string; readonly why?: string }> {
  try {
    const { body } = await client.request({ method: 'GET', path: `${FLOW_CONTROL}/${resource}` }, options);
    const items = Array.isArray(body['items']) ? body['items'].map(fields) : [];
    const found = items.find((item) => identityOf(item).uid === uid);
    return found === undefined ? { why: `none of the ${resource} has this uid` } : { name: nameOf(found) };
  } catch (error) {
    if (isNotPermitted(error)) return { why: `the user may not list ${resource}` };
    if (isNotServed(error)) return { why: `the server has no ${resource} of version 1` };
    throw error;
  }
}
