/**
 * npm etcd3: its Election, with its defaults. `raw`: its client alone, one watch and one
 * transaction.
 */

import { Etcd3 } from 'etcd3';
import { speak, start, type Contestant, type HeldLeadership } from './speak.ts';

const { url, namespace, ttlMs, mode } = start();
const client = new Etcd3({ hosts: url });
const ttl = Math.ceil(ttlMs / 1_000);

const election: Contestant = {
  async campaign(name, as, lost) {
    const campaign = client.election(`${namespace}/${name}`, ttl).campaign(`${process.pid}-${as}`);
    const elected = Promise.withResolvers<HeldLeadership>();
    let leads = false;
    const resign = async (): Promise<void> => {
      leads = false;
      await campaign.resign();
    };
    campaign.on('elected', () => {
      leads = true;
      elected.resolve({ isLeader: () => leads, resign });
    });
    campaign.on('error', (error: unknown) => {
      leads = false;
      lost(String(error));
    });
    return elected.promise;
  },
  async observe(name, told) {
    const observer = await client.election(`${namespace}/${name}`, ttl).observe();
    const leader = observer.leader();
    if (leader !== undefined && leader !== '') told(leader);
    observer.on('change', (next) => (next === undefined ? undefined : told(next)));
  },
};

const raw: Contestant = {
  async campaign(name) {
    const key = `${namespace}/${name}`;
    const take = async (): Promise<boolean> => {
      const { succeeded } = await client.if(key, 'Create', '==', 0).then(client.put(key).value('x')).commit();
      return succeeded;
    };
    while (!(await take())) {
      const watcher = await client.watch().key(key).create();
      const deleted = new Promise((resolve) => watcher.once('delete', resolve));
      await deleted;
      await watcher.cancel();
    }
    return { isLeader: () => true, resign: async () => void (await client.delete().key(key)) };
  },
};

await speak(mode === 'raw' ? raw : election);
