/** npm redis-semaphore: its Mutex, which polls every 10 ms by default. */

import { Redis } from 'ioredis';
import { Mutex } from 'redis-semaphore';
import { speak, start, type Contestant } from './speak.ts';

const { url, namespace, ttlMs } = start();
const redis = new Redis(url);

const contestant: Contestant = {
  async campaign(name, _as, lost) {
    const mutex = new Mutex(redis, `${namespace}/${name}`, {
      lockTimeout: ttlMs,
      acquireTimeout: Infinity,
      onLockLost: (error) => lost(String(error)),
    });
    await mutex.acquire();
    return { isLeader: () => mutex.isAcquired, resign: () => mutex.release() };
  },
};

await speak(contestant);
