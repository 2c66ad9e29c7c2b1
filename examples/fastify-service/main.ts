/**
 * A Fastify service whose processes elect a leader for background work, with health, metrics, logs
 * and shutdown.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { fastify, type FastifyInstance } from 'fastify';
import { type Leadership, Member, openStore } from 'incumbent';
import { Monitor } from 'incumbent/monitor';

const [storeUrl = 'sqlite:./state.db', port = '0'] = process.argv.slice(2);

const app = fastify({ logger: true });
await app.register(background, { storeUrl });
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void app.close());
await app.listen({ port: Number(port), host: '127.0.0.1' });

async function background(service: FastifyInstance, options: { readonly storeUrl: string }): Promise<void> {
  const monitor = new Monitor(); // before the member, so that nothing is missed
  const store = await openStore(options.storeUrl);
  const member = new Member(store, { ttlMs: 5_000, logger: service.log });
  const election = member.election('mailer');

  const leading = election.lead(work).catch((error: unknown) => {
    service.log.fatal(error, 'the election is over for this process');
    process.exitCode = 1;
    void service.close();
  });

  // Restart this process if the status is not 200. A process that does not lead is healthy, and so
  // is one whose store is unavailable.
  service.get('/healthz', async (_, reply) => {
    const health = monitor.health();
    return reply.code(health.healthy ? 200 : 503).send(health);
  });
  service.get('/metrics', async (_, reply) => reply.type(monitor.contentType).send(monitor.prometheus()));

  // The service first answers the requests in progress. Then the next process leads, before this
  // one ends.
  service.addHook('onClose', async () => {
    await member.shutdown();
    await leading;
    await store.close();
    monitor.close();
  });

  async function work({ term, signal }: Leadership): Promise<void> {
    service.log.info({ term: String(term) }, 'sends mails');
    while (!signal.aborted) await sleep(1_000, undefined, { signal }); // the mails of this second
  }
}
