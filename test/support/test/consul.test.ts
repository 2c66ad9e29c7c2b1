import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { requireStore, startConsul, startConsulCluster, startProxy, until, type ConsulServer } from '../src/index.ts';
import { ask } from '../src/servers/http.ts';
import { gone } from './gone.ts';

const TOKEN = '11111111-2222-3333-4444-555555555555';

describe.runIf(await requireStore({ store: 'consul', own: true }))('a Consul of one’s own', () => {
  let consul: ConsulServer;

  beforeAll(async () => {
    consul = await startConsul();
  });
  afterAll(() => consul.stop());

  test('serves, and its own tool says what is there; what that cannot do is an error', async () => {
    expect(consul.version).toMatch(/^1\.\d+\.\d+/);
    expect(consul.endpoints).toEqual([consul.url]);
    await consul.ctl(['kv', 'put', 'probe', 'value']);
    await expect(consul.ctl(['kv', 'get', 'probe'])).resolves.toBe('value\n');
    await expect(consul.ctl(['kv', 'get', 'nothing'])).rejects.toThrow(/No key exists at: nothing/);
  });

  test.for(['SIGKILL', 'SIGTERM'] as const)('ended with %s, it is gone; started again, it has its address and its data', async (signal) => {
    await consul.ctl(['kv', 'put', signal, 'value']);
    await consul.kill(signal);
    await expect(gone(consul.url)).resolves.toBe(true);
    await consul.restart();
    await expect(consul.ctl(['kv', 'get', signal])).resolves.toBe('value\n');
  });

  test('paused, it does not answer; resumed, it does', async () => {
    await consul.pause();
    await expect(ask(`${consul.url}/v1/status/leader`, { timeoutMs: 300 })).rejects.toThrow(/abort/);
    await consul.resume();
    await expect(ask(`${consul.url}/v1/status/leader`)).resolves.toContain('127.0.0.1');
  });

  test('is out of reach while a proxy before it is a black hole', async () => {
    await using proxy = await startProxy(consul.url);
    await expect(ask(`${proxy.url}/v1/status/leader`)).resolves.toContain('127.0.0.1');
    proxy.blackhole();
    await expect(ask(`${proxy.url}/v1/status/leader`, { timeoutMs: 300 })).rejects.toThrow(/abort/);
  });

  test('where it does not start, its log says why', async () => {
    await expect(startConsul({ settings: { datacenter: 'a b' } })).rejects.toThrow(/does not serve; its log ends with:[^]*datacenter/);
  });
});

describe.runIf(await requireStore({ store: 'consul', own: true }))('a Consul with certificates and rules', () => {
  test('serves who has a certificate and a token, and nobody else', async () => {
    await using consul = await startConsul({ tls: 'mutual', managementToken: TOKEN });
    await consul.ctl(['kv', 'put', 'probe', 'value']);
    await expect(consul.ctl(['kv', 'get', 'probe'])).resolves.toBe('value\n');
    await expect(ask(`${consul.url}/v1/kv/probe?raw`, { certificates: consul.tls })).rejects.toThrow(/403/);
    await expect(ask(`${consul.url}/v1/kv/probe?raw&token=${TOKEN}`, { certificates: consul.tls })).resolves.toBe('value');
    await expect(ask(`${consul.url}/v1/kv/probe?raw&token=${TOKEN}`)).rejects.toThrow(/certificate/);
  });
});

describe.runIf(await requireStore({ store: 'consul', own: true }))('a Consul of three servers and an agent', () => {
  test('elects another leader when one is killed, and is whole again when that is back; the agent passes on', async () => {
    await using cluster = await startConsulCluster({ agents: 1 });
    expect([cluster.servers.length, cluster.agents.length]).toEqual([3, 1]);
    const first = await cluster.leader();
    await cluster.servers[first]?.kill();
    const second = await cluster.leader();
    expect(second).not.toBe(first);
    await cluster.servers[first]?.restart();
    const [agent] = cluster.agents;
    await agent?.ctl(['kv', 'put', 'probe', 'value']);
    await expect(cluster.servers[first]?.ctl(['kv', 'get', 'probe'])).resolves.toBe('value\n');
  });

  test('cut off, the agent serves nothing that servers must answer, and these serve; healed, it does', async () => {
    await using cluster = await startConsulCluster({ size: 1, agents: 1, gated: true });
    const agent = cluster.agents[0]?.url ?? '';
    cluster.cutOff();
    await expect(ask(`${agent}/v1/kv/?keys`, { timeoutMs: 2_000 })).rejects.toThrow(/abort|500/);
    await expect(ask(`${agent}/v1/agent/self`)).resolves.toContain('Member');
    await cluster.ctl(['kv', 'put', 'probe', 'value']);
    await cluster.heal();
    const told = (): Promise<string | undefined> => ask(`${agent}/v1/kv/probe?raw`).catch(() => undefined);
    await expect(until(told, { what: 'the agent serves', withinMs: 20_000 })).resolves.toBe('value');
  });
});
