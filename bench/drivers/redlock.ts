/**
 * npm redlock 5 (beta): `using`, which extends the lock itself and polls every 200 ms by default,
 * on one server, without a limit of attempts.
 */

import { Redis } from 'ioredis';
import Redlock from 'redlock';
import { speak, start, type Contestant, type HeldLeadership } from './speak.ts';

const { url, namespace, ttlMs } = start();
const redlock = new Redlock([new Redis(url)], { retryCount: -1 });

const contestant: Contestant = {
  async campaign(name, _as, lost) {
    const acquired = Promise.withResolvers<HeldLeadership>();
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
    // A lost leadership cannot be released. The library reports that as an error.
    using.catch(acquired.reject);
    return acquired.promise;
  },
};

await speak(contestant);
