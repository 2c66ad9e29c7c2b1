/**
 * A Fastify service whose processes elect a leader for background work, with health, metrics, logs
 * and shutdown.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { incumbent } from '@incumbent/fastify';
import { fastify } from 'fastify';

const [store = 'sqlite:./state.db', port = '0'] = process.argv.slice(2);

const service = fastify({ logger: true });
await service.register(incumbent, { store, member: { ttlMs: 5_000 }, acceptWeakStore: 'redis' });

service.incumbent.lead('mailer', async (leadership) => {
  const { term, signal } = leadership;
  service.log.info({ term: String(term) }, 'sends mails');
  while (leadership.isValid()) await sleep(1_000, undefined, { signal }); // the mails of this second
});

const stop = (): void => void service.close();
process.on('SIGTERM', stop).on('SIGINT', stop); // not `once`: npm and terminals may send a stop twice
await service.listen({ port: Number(port), host: '127.0.0.1' });
