/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import { existsSync } from 'node:fs';

import { expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { fields } from '../src/objects/json.ts';
import { identityOf } from '../src/objects/metadata.ts';
import { FakeApiServer, type Classification } from './fake/api-server.ts';
import { failure } from './fake/objects.ts';
import { KEYS } from './harness.ts';

const FLOW_CONTROL = '/apis/flowcontrol.apiserver.k8s.io/v1';
const OTHER: Classification = { flowSchema: 'uid-of-another-flow-schema', level: 'uid-of-another-level' };

/** Creates the object, and returns its uid. */
async function create(server: FakeApiServer, resource: string, name: string): Promise<string> {
  const { status, body } = await server.call('POST', `${FLOW_CONTROL}/${resource}`, { metadata: { name } });
  expect(status).toBe(201);
  return identityOf(fields(body)).uid;
}

/**
 * The server puts changes of leases into this level and this flow schema, and all other requests
 * into others.
 */
async function classify(server: FakeApiServer, levelName: string, schemaName: string): Promise<Classification> {
  await create(server, 'flowschemas', 'exempt');
  await create(server, 'prioritylevelconfigurations', 'exempt');
  const level = await create(server, 'prioritylevelconfigurations', levelName);
  const flowSchema = await create(server, 'flowschemas', schemaName);
  server.classify = ({ method, path }) => (method === 'PUT' && path.includes('/leases/') ? { level, flowSchema } : OTHER);
  return { level, flowSchema };
}

function deny(server: FakeApiServer, ...resources: readonly string[]): void {
  server.intervene = ({ path }) => (resources.some((name) => path.endsWith(`/${name}`)) ? failure(403, 'Forbidden', 'no') : undefined);
}

async function priorityOn(server: FakeApiServer): Promise<string | undefined> {
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  const report = await store.inspect?.();
  expect(report?.warnings).toEqual([]);
  return report?.facts?.find(({ what }) => what === 'priority')?.detail;
}

it('is that of the renewals of leases, by its names', async () => {
  await using server = await FakeApiServer.start();
  await classify(server, 'leader-election', 'mailer');
  expect(await priorityOn(server)).toBe('level leader-election, flow schema mailer');
});

it.each(['workload-low', 'global-default', 'catch-all'])('names the manifest that chooses another level than %s', async (level) => {
  await using server = await FakeApiServer.start();
  await classify(server, level, 'some-schema');
  const priority = await priorityOn(server);
  expect(priority).toMatch(new RegExp(`^level ${level}, flow schema some-schema; other workloads share this level`));
  const [, file = ''] = /blob\/main\/(\S+)/.exec(priority ?? '') ?? [];
  expect(existsSync(new URL(`../../../${file}`, import.meta.url))).toBe(true);
});

it.each([
  { who: 'a user who may not change leases', answer: failure(403, 'Forbidden', 'no') },
  { who: 'a server with a webhook that supports no dry run', answer: failure(400, 'BadRequest', 'no dry run') },
  { who: 'a server that requires a resourceVersion', answer: failure(422, 'Invalid', 'must be specified for an update') },
])('is that of $who, too', async ({ answer }) => {
  await using server = await FakeApiServer.start();
  await classify(server, 'leader-election', 'mailer');
  server.intervene = ({ method }) => (method === 'PUT' ? answer : undefined);
  expect(await priorityOn(server)).toBe('level leader-election, flow schema mailer');
});

it.each([
  { denied: ['flowschemas'] },
  { denied: ['prioritylevelconfigurations'] },
  { denied: ['prioritylevelconfigurations', 'flowschemas'] },
])('has uids in place of the names of $denied, which the user may not list', async ({ denied }) => {
  await using server = await FakeApiServer.start();
  const uids = await classify(server, 'leader-election', 'mailer');
  deny(server, ...denied);
  const level = denied.includes('prioritylevelconfigurations') ? uids.level : 'leader-election';
  const flowSchema = denied.includes('flowschemas') ? uids.flowSchema : 'mailer';
  const reasons = denied.map((resource) => `the user may not list ${resource}`).join(', ');
  expect(await priorityOn(server)).toBe(`level ${level}, flow schema ${flowSchema}; names not known: ${reasons}`);
});

it('has uids on a server without these resources, and for objects that are gone', async () => {
  await using server = await FakeApiServer.start();
  const { level } = await classify(server, 'leader-election', 'mailer');
  server.classify = () => ({ level, flowSchema: OTHER.flowSchema });
  server.intervene = ({ path }) =>
    path.endsWith('/prioritylevelconfigurations') ? { status: 404, text: '404 page not found' } : undefined;
  expect(await priorityOn(server)).toBe(
    `level ${level}, flow schema ${OTHER.flowSchema}; names not known: ` +
      'the server has no prioritylevelconfigurations of version 1, none of the flowschemas has this uid',
  );
});

it('changes nothing to find the priority', async () => {
  await using server = await FakeApiServer.start();
  await classify(server, 'leader-election', 'mailer');
  await priorityOn(server);
  const puts = server.requests.filter(({ method }) => method === 'PUT');
  expect(puts.map(({ query }) => query.get('dryRun'))).toEqual(['All']);
});
