import { TestCluster } from '@incumbent/memory';
import { fastify, type FastifyInstance } from 'fastify';
import { StoreError } from 'incumbent';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { incumbent, type IncumbentOptions } from '../src/index.ts';

let cluster: TestCluster;
beforeEach(() => {
  cluster = new TestCluster();
});
afterEach(async () => cluster.close());

/** A service in a process of the cluster. */
async function serve(id: string, options: Partial<IncumbentOptions> = {}, service: FastifyInstance = fastify()): Promise<FastifyInstance> {
  const process = cluster.process(id);
  await service.register(incumbent, { store: process.store, member: { ttlMs: 5_000, ...process.options }, ...options });
  return service;
}

describe('the plugin', () => {
  it('runs work in one process of a service, and in the next one when that one has closed', async () => {
    const said: string[] = [];
    const services: FastifyInstance[] = [];
    for (const id of ['a', 'b']) {
      const service = await serve(id);
      services.push(service);
      service.incumbent.lead('mailer', async ({ term, ended }) => {
        said.push(`${id} begins in term ${term}`);
        await ended;
        said.push(`${id} ends`);
      });
      await cluster.advance(500);
    }
    expect(said).toEqual(['a begins in term 1']);
    await cluster.run(services[0]!.close());
    await cluster.advance(500);
    expect(said).toEqual(['a begins in term 1', 'a ends', 'b begins in term 2']);
    await cluster.run(services[1]!.close());
  });

  it('drains the work before the service closes', async () => {
    const said: string[] = [];
    const service = await serve('a');
    service.addHook('onClose', async () => void said.push('the service closes'));
    service.incumbent.lead('mailer', async ({ ended }) => {
      await ended;
      said.push('the work ends');
    });
    await cluster.advance(500);
    await cluster.run(service.close());
    expect(said).toEqual(['the work ends', 'the service closes']);
    expect(cluster.server.entries().map(({ key }) => key)).toEqual([expect.stringContaining('term')]);
  });

  it('is no leader while it drains the work, for the requests that Fastify lets through then', async () => {
    const answers: unknown[] = [];
    for (const return503OnClosing of [true, false]) {
      const service = await serve('a', {}, fastify({ return503OnClosing }));
      service.get('/leads', async () => service.incumbent.isLeader('mailer'));
      const [draining, work] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      service.incumbent.lead('mailer', async ({ ended }) => {
        await ended;
        draining.resolve();
        await work.promise;
      });
      const address = await service.listen({ port: 0, host: '127.0.0.1' });
      await cluster.advance(500);
      const closing = service.close();
      await cluster.run(draining.promise);
      const answer = await fetch(`${address}/leads`);
      answers.push([answer.status, await answer.json()]);
      work.resolve();
      await cluster.run(closing);
    }
    expect(answers).toEqual([
      [503, expect.objectContaining({ error: 'Service Unavailable' })],
      [200, false],
    ]);
  });

  it('stops within the pluginTimeout of the service while the store is away, after which Fastify would not wait', async () => {
    const { store, options } = cluster.process('a');
    const service = fastify({ pluginTimeout: 4_000 });
    await service.register(incumbent, { store, member: { ttlMs: 30_000, ...options } });
    service.incumbent.lead('mailer', ({ ended }) => ended);
    await service.ready();
    await cluster.advance(500);
    expect(service.incumbent.isLeader('mailer')).toBe(true);
    cluster.cutOff('a');
    const beganMs = options.clock.monotonic();
    await cluster.run(service.close());
    expect(options.clock.monotonic() - beganMs).toBeLessThan(4_000);
    cluster.heal('a');
  });

  it('serves health and metrics', async () => {
    const service = await serve('a');
    service.incumbent.lead('mailer', ({ ended }) => ended);
    await cluster.advance(500);
    const health = await service.inject('/healthz');
    expect([health.statusCode, health.json()]).toMatchObject([
      200,
      { healthy: true, failures: [], leads: [{ election: 'mailer', term: '1' }] },
    ]);
    const metrics = await service.inject('/metrics');
    expect(metrics.headers['content-type']).toContain('version=0.0.4');
    expect(metrics.body).toMatch(/^incumbent_leader\{.*election="mailer".*\} 1$/m);
    await cluster.run(service.close());
  });

  it('serves them at other paths, or not at all', async () => {
    const service = await serve('a', { healthPath: '/live', metricsPath: false });
    const answers = await Promise.all(['/live', '/healthz', '/metrics'].map((url) => service.inject(url)));
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 404, 404]);
    await cluster.run(service.close());
  });

  it('is unhealthy after work has thrown, because this process leads no more', async () => {
    const service = await serve('a');
    service.incumbent.lead('mailer', () => {
      throw new Error('no paper');
    });
    await cluster.advance(500);
    const health = await service.inject('/healthz');
    expect([health.statusCode, health.json()]).toMatchObject([
      503,
      { healthy: false, failures: [{ election: 'mailer', error: 'Error: no paper' }] },
    ]);
    await cluster.run(service.close());
  });

  it('warns of work that has thrown, and of what its member warns of, in a service without a logger', async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listen);
    const service = await serve('a');
    service.incumbent.lead('printer', () => {
      throw new Error('no paper');
    });
    service.incumbent.lead('scanner', () => new Promise(() => {}));
    await cluster.advance(500);
    cluster.server.deleteKey('elections/scanner/leader');
    await cluster.advance(10_000);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', listen);
    expect(warnings).toMatchObject([
      {
        name: 'IncumbentWarning',
        code: 'INCUMBENT_WORK_FAILED',
        message: 'this process takes no further part in the election "printer": no paper',
        detail: expect.stringContaining('plugin.test.ts'),
      },
      { name: 'IncumbentWarning', code: 'INCUMBENT_LEADERSHIP_LOST' },
      { name: 'IncumbentWarning', code: 'INCUMBENT_STUCK' },
    ]);
    await cluster.run(service.close());
  });

  it.each(['error', 'silent'])('uses the logger of the service, also of the level %s', async (level) => {
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listen);
    const lines: string[] = [];
    const service = fastify({ logger: { level, stream: { write: (line) => void lines.push(line) } } });
    await serve('a', {}, service);
    service.incumbent.lead('copier', () => {
      throw new Error('no paper');
    });
    await cluster.advance(500);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', listen);
    expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject(
      level === 'silent' ? [] : [{ msg: 'this process takes no further part in the election "copier"', err: { message: 'no paper' } }],
    );
    expect(warnings).toEqual([]);
    await cluster.run(service.close());
  });

  it('prevents the start with options that it does not know', async () => {
    const service = fastify();
    const options = { ...cluster.process('a'), ttlMs: 5_000 };
    await expect(service.register(incumbent, options)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message:
        'there is no incumbent option "options": the options are store, waitMs, signal, onRetry, member, acceptWeakStore, healthPath, metricsPath',
    });
    await service.close();
  });

  it('waits for a store within the pluginTimeout of the service, so that the start fails with the error of the store', async () => {
    const service = fastify({ pluginTimeout: 2_000 });
    const away = new StoreError('UNREACHABLE', 'notSent', 'no server');
    void service.register(incumbent, { store: () => Promise.reject(away) });
    await expect(service.ready()).rejects.toBe(away);
    await service.close();
  });

  it.each([10_000, Infinity])('refuses to wait for longer than the pluginTimeout of the service (%d ms)', async (waitMs) => {
    const service = fastify();
    void service.register(incumbent, { store: 'memory:', waitMs });
    await expect(service.ready()).rejects.toThrow(/^waitMs is .*: it must be less than the pluginTimeout of the service, 10000 ms/);
    await service.close();
    const patient = fastify({ pluginTimeout: 0 });
    await patient.register(incumbent, { store: 'memory:', waitMs });
    await patient.close();
  });

  it.each([
    ['decorator', (service: FastifyInstance) => service.decorate('incumbent', { getter: () => service.incumbent })],
    ['route', (service: FastifyInstance) => service.get('/metrics', async () => 'others')],
  ])('closes its store if the service has a %s of that name', async (_, prepare) => {
    const service = fastify();
    prepare(service);
    const { store, options } = cluster.process('a');
    void service.register(incumbent, { store: async () => store, member: options });
    await expect(service.ready()).rejects.toThrow(/already/);
    await expect(store.read('key', { timeoutMs: 100 })).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    await service.close();
  });
});
