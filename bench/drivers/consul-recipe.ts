/**
 * Consul's own recipe over its HTTP interface: a session, an acquire and a blocking query, without
 * a lock delay and without a deadline. It is not a library, and shows what the store itself allows.
 * `raw`: one key without a session, one blocking query and one check-and-set.
 */

import { Agent, request as send } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { speak, start, type Contestant } from './speak.ts';

const { url, namespace, ttlMs, mode } = start();
const agent = new Agent({ keepAlive: true, maxSockets: Infinity });

interface Answer {
  readonly status: number;
  readonly index: string;
  readonly body: string;
}

async function ask(method: 'GET' | 'PUT' | 'DELETE', path: string, body = ''): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const request = send(new URL(`/v1/${path}`, url), { method, agent }, (response) => {
    const index = String(response.headers['x-consul-index'] ?? '0');
    void text(response).then((read) => resolve({ status: response.statusCode ?? 0, index, body: read }), reject);
  });
  request.on('error', reject).end(body);
  return promise;
}

const sessions = new Map<string, Promise<string>>();

async function openSession(lost: (reason: string) => void): Promise<string> {
  const { body } = await ask('PUT', 'session/create', JSON.stringify({ TTL: `${Math.max(ttlMs / 1_000, 10)}s`, LockDelay: '0s' }));
  const id = /"ID":\s*"([^"]+)"/.exec(body)?.[1] ?? '';
  const renew = async (): Promise<void> => {
    for (;;) {
      await sleep(ttlMs / 2);
      const { status } = await ask('PUT', `session/renew/${id}`);
      if (status === 404) return lost('session gone');
    }
  };
  void renew().catch((error: unknown) => lost(String(error)));
  return id;
}

/** Whether the key is held, and by whom, later than `index`. */
async function look(key: string, index?: string): Promise<{ readonly holder: string | undefined; readonly index: string }> {
  const wait = index === undefined ? '' : `&index=${index}&wait=5m`;
  const answer = await ask('GET', `kv/${key}?consistent${wait}`);
  return { holder: /"Session":\s*"([^"]+)"/.exec(answer.body)?.[1], index: answer.index };
}

const recipe: Contestant = {
  async campaign(name, as, lost) {
    const key = `${namespace}/${name}`;
    let leads = false;
    const opened = sessions.get(as) ?? openSession(lost);
    sessions.set(as, opened);
    const session = await opened;
    while ((await ask('PUT', `kv/${key}?acquire=${session}`, as)).body.trim() !== 'true') {
      let seen = await look(key);
      while (seen.holder !== undefined) seen = await look(key, seen.index);
    }
    leads = true;
    void (async () => {
      let seen = await look(key);
      while (seen.holder === session) seen = await look(key, seen.index);
      if (leads) lost('lock lost');
      leads = false;
    })().catch(() => {});
    return {
      isLeader: () => leads,
      resign: async () => {
        leads = false;
        await ask('PUT', `kv/${key}?release=${session}`);
      },
    };
  },
};

const raw: Contestant = {
  async campaign(name) {
    const key = `${namespace}/${name}`;
    while ((await ask('PUT', `kv/${key}?cas=0`, 'x')).body.trim() !== 'true') {
      let answer = await ask('GET', `kv/${key}?consistent`);
      while (answer.status === 200) answer = await ask('GET', `kv/${key}?consistent&index=${answer.index}&wait=5m`);
    }
    return { isLeader: () => true, resign: async () => void (await ask('DELETE', `kv/${key}`)) };
  },
};

await speak(mode === 'raw' ? raw : recipe);
