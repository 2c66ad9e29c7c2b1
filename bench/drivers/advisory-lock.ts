/**
 * A session-level advisory lock of PostgreSQL, on a connection for each candidate. `wait`: the
 * server wakes up the next candidate. `try`: each candidate tries again every second, as programs
 * do whose connection must not wait in the server.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { speak, start, type Contestant } from './speak.ts';

const EVERY_MS = 1_000;

const { url, namespace, mode } = start();
const clients = new Map<string, Promise<Client>>();

async function connect(as: string): Promise<Client> {
  const client = new Client(url);
  client.on('error', () => clients.delete(as));
  await client.connect();
  return client;
}

function clientOf(as: string): Promise<Client> {
  const client = clients.get(as) ?? connect(as);
  clients.set(as, client);
  return client;
}

async function lock(client: Client, key: readonly string[]): Promise<void> {
  if (mode === 'wait') {
    await client.query('SELECT pg_advisory_lock(hashtext($1), hashtext($2))', [...key]);
    return;
  }
  const tried = async (): Promise<boolean> => {
    const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock(hashtext($1), hashtext($2)) AS locked', [...key]);
    return rows[0]?.locked === true;
  };
  while (!(await tried())) await sleep(EVERY_MS);
}

const contestant: Contestant = {
  async campaign(election, as, lost) {
    const client = await clientOf(as);
    const key = [namespace, election];
    await lock(client, key);
    let isLeader = true;
    const end = (): void => {
      isLeader = false;
      lost('the session has ended');
    };
    client.once('end', end);
    return {
      isLeader: () => isLeader,
      resign: async () => {
        isLeader = false;
        client.off('end', end);
        await client.query('SELECT pg_advisory_unlock(hashtext($1), hashtext($2))', key);
      },
    };
  },
};

await speak(contestant);
