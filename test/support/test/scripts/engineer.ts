// Starts a container engine of its own, with a container that runs, and waits for its death.
import { buildImage, composeImages, startEngine } from '@incumbent/test-support';
import { emit } from '@incumbent/test-support/child';

const own = await startEngine();
Object.assign(process.env, own.env);
process.env['INCUMBENT_REDIS_IMAGE'] = await buildImage(own.engine, composeImages.redis.recipe);
const { startRedis } = await import('@incumbent/test-support');
const redis = await startRedis();
emit('runs', { url: redis.url, socket: own.engine.socket, containers: (await own.engine.containers()).length });
setInterval(() => {}, 1_000);
