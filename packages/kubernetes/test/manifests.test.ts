import { readFileSync } from 'node:fs';

import { Member } from '@incumbent/core';
import { expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { fields, type Fields } from '../src/objects/json.ts';
import { FakeApiServer } from './fake/api-server.ts';
import { KEYS } from './harness.ts';
import { listOf, manifestsOf, rightsIn, roleRights } from './manifests.ts';

const DEPLOYMENT = 'examples/kubernetes/deployment.yaml';
const RBAC = 'examples/kubernetes/rbac.yaml';
const FLOW_SCHEMA = 'examples/kubernetes/flow-schema.yaml';
const SIDECAR = 'examples/kubernetes/sidecar.yaml';
/** For the process to notice the signal, to close what else it has open, and to end. */
const SPARE_MS = 10_000;

const manifests = [...manifestsOf(RBAC), ...manifestsOf(DEPLOYMENT)];

function only(kind: string): Fields {
  const [found, ...others] = manifests.filter((manifest) => manifest['kind'] === kind);
  if (found === undefined || others.length > 0) throw new Error(`${RBAC} and ${DEPLOYMENT} have not exactly one ${kind}`);
  return found;
}

function nameOf(manifest: Fields): unknown {
  return fields(manifest['metadata'])['name'];
}

const template = fields(fields(fields(only('Deployment')['spec'])['template'])['spec']);
const container = fields(listOf(template['containers'])[0]);

it("the example's Role has the rights that the store needs, and no others", () => {
  expect(roleRights({ file: RBAC })).toEqual(roleRights());
});

it('the pods run as the service account that the Role is bound to, in a file without pods', () => {
  expect(manifestsOf(RBAC).map(({ kind }) => kind)).toEqual(['ServiceAccount', 'Role', 'RoleBinding']);
  const account = nameOf(only('ServiceAccount'));
  expect(template['serviceAccountName']).toBe(account);
  const binding = only('RoleBinding');
  expect(binding['subjects']).toEqual([{ kind: 'ServiceAccount', name: account }]);
  expect(binding['roleRef']).toEqual({ apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: nameOf(only('Role')) });
});

it('the flow schema takes the requests that the Role allows, but no list of leases, before the schema of all service accounts', () => {
  const [{ spec } = {}, ...others] = manifestsOf(FLOW_SCHEMA);
  expect(others).toEqual([]);
  const { priorityLevelConfiguration, matchingPrecedence, rules } = fields(spec);
  expect(priorityLevelConfiguration).toEqual({ name: 'leader-election' });
  // Those of Kubernetes' own components end at 900.
  expect(matchingPrecedence).toBeGreaterThan(900);
  expect(matchingPrecedence).toBeLessThan(9_000);
  const [rule, ...otherRules] = listOf(rules).map(fields);
  expect(otherRules).toEqual([]);
  const { subjects, resourceRules } = fields(rule);
  expect(subjects).toEqual([{ kind: 'ServiceAccount', serviceAccount: { namespace: 'my-app', name: nameOf(only('ServiceAccount')) } }]);
  expect(listOf(resourceRules).map((one) => fields(one)['namespaces'])).toEqual([['my-app'], ['my-app']]);
  const isInLevel = ({ verb, resource }: { readonly verb: string; readonly resource: string }): boolean =>
    verb !== 'list' || resource !== 'leases';
  expect(new Set(rightsIn(resourceRules))).toEqual(new Set(roleRights().filter(isInLevel)));
});

it('the grace period covers a shutdown with the default timings', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  const { drainMs, callTimeoutMs } = new Member(store).timing;
  const graceMs = Number(template['terminationGracePeriodSeconds']) * 1_000;
  expect(graceMs).toBeGreaterThanOrEqual(drainMs + 3 * callTimeoutMs + SPARE_MS);
  expect(container['lifecycle']).toBeUndefined();
});

it("the README's table has options that a member accepts, with the times that follow from them", async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  const readme = readFileSync(new URL('../../../examples/kubernetes/README.md', import.meta.url), 'utf8');
  const rows = readme.matchAll(/^\| ([\d,]+)[^|]* \| ([\d,]+)[^|]* \| ([\d.]+) s \| (\d+) s \|$/gm);
  const lines = [...rows].map((row) => row.slice(1).map((cell) => Number(cell.replace(',', ''))));
  expect(lines.length).toBe(3);
  for (const [ttlMs = 0, asked = 0, shutdown = 0, grace = 0] of lines) {
    const { drainMs, callTimeoutMs } = new Member(store, { ttlMs, drainMs: asked }).timing;
    expect((drainMs + 3 * callTimeoutMs) / 1_000).toBe(shutdown);
    expect(grace * 1_000).toBeGreaterThanOrEqual(shutdown * 1_000 + SPARE_MS);
  }
});

it('the probes ask a port that the container names, at two paths', () => {
  const ports = new Set(listOf(container['ports']).map((port) => fields(port)['name']));
  const probed = [container['livenessProbe'], container['readinessProbe']].map((probe) => fields(fields(probe)['httpGet']));
  expect(probed.map(({ path }) => path)).toEqual(['/healthz', '/readyz']);
  expect(probed.every(({ port }) => ports.has(port))).toBe(true);
});

it('a new pod is ready before an old one stops', () => {
  expect(fields(only('Deployment')['spec'])['strategy']).toEqual({ rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } });
});

it('the sidecar has options of `incumbent serve`, the service account of the Role, and no rights of root', () => {
  const [deployment = {}, ...others] = manifestsOf(SIDECAR);
  expect(others).toEqual([]);
  const pod = fields(fields(fields(deployment['spec'])['template'])['spec']);
  expect(pod['serviceAccountName']).toBe(nameOf(only('ServiceAccount')));
  const sidecar = fields(listOf(pod['initContainers'])[0]);
  expect(sidecar['restartPolicy']).toBe('Always');
  const [command, ...options] = listOf(sidecar['args']).map(String);
  expect(command).toBe('serve');
  const help = readFileSync(new URL('../../cli/test/help/serve.txt', import.meta.url), 'utf8');
  expect(options.filter((option) => !help.includes(`  ${option.replace(/=.*/, '')} <`))).toEqual([]);
  const variables = listOf(sidecar['env']).map((variable) => String(fields(variable)['name']));
  expect(options.flatMap((option) => [...option.matchAll(/\$\((\w+)\)/g)].map(([, name]) => name))).toEqual(['POD_NAME']);
  expect(variables).toEqual(['INCUMBENT_STORE', 'POD_NAME']);
  expect(sidecar['securityContext']).toMatchObject({ runAsNonRoot: true, readOnlyRootFilesystem: true, allowPrivilegeEscalation: false });
});
