/**
 * npm redlock 5 (beta): `using`, which extends the lock by itself and asks again every 200 ms by
 * default; on one server, without end.
 */

import { Redis } from 'ioredis';
import Redlock from 'redlock';
import { speak, start, type Contestant, type Held } from './speak.ts';

const { url, namespace, ttlMs } = start();
const redlock = new Redlock([new Redis(url)], { retryCount: -1 });

const contestant: Contestant = {
  async campaign(name, _as, lost) {
    const acquired = Promise.withResolvers<Held>();
    const using = redlock.using([`${namespace}/${name}`], ttlMs, async (signal) => {
      const over = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => lost(String(signal.error)));
      const resign = async (): Promise<void> => {
        over.resolve();
        await using;
      };
      acquired.resolve({ isLeader: () => !signal.aborted, resign });
      await over.promise;
    });
    // Leadership that was lost cannot be released, and says so.
    using.catch(acquired.reject);
    return acquired.promise;
  },
};

await speak(contestant);
