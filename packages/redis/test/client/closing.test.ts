import { describe, expect, it } from 'vitest';

import { toStoreError } from '../../src/errors.ts';
import type { Client } from '../../src/client/client.ts';
import type { Connection } from '../../src/client/connection.ts';
import { FakeServers } from '../fake-servers.ts';

const CALL = { timeoutMs: 500 };

const ping = (connection: Connection): Promise<unknown> => connection.request(['PING']);

describe('a client', () => {
  it.each(Array.from({ length: 12 }, (_, turns) => turns))(
    'that is closed %i turns after its connection was greeted leaves none',
    async (turns) => {
      const servers = new FakeServers(() => undefined);
      const closeSoon = async (): Promise<void> => {
        for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
        client.close();
      };
      const client: Client = servers.client({ check: async () => void closeSoon() });
      const end = client.connection().then(
        () => 'connected',
        (error: unknown) => toStoreError(error, 'call').code,
      );
      await servers.clock.advance(0);
      expect(['connected', 'STORE_CLOSED']).toContain(await end);
      expect(servers.peer.left).toBe(true);
    },
  );

  it('takes no server that does not stand the check, and tries the next; each connection is checked', async () => {
    const moved = new Set(['one:1']);
    const servers = new FakeServers(([name]) => {
      if (name === 'PING') return '+PONG\r\n';
      return name === 'CHECK' ? (moved.has(servers.dialed.at(-1) ?? '') ? '-MOVED 1 two:2\r\n' : '+OK\r\n') : undefined;
    });
    const client = servers.client({
      endpoints: [
        { host: 'one', port: 1 },
        { host: 'two', port: 2 },
      ],
      check: async (connection) => void (await connection.request(['CHECK'])),
    });
    expect(await servers.clock.run(client.call(ping, CALL))).toBe('PONG');
    expect(servers.dialed).toEqual(['one:1', 'two:2']);
    servers.peer.cut();
    await servers.clock.advance(0);
    moved.add('two:2');
    const error = await servers.clock.run(client.call(ping, CALL).catch((thrown: unknown) => toStoreError(thrown, 'call')));
    expect(error).toMatchObject({ code: 'UNAVAILABLE', outcome: 'notSent' });
    expect(servers.dialed).toHaveLength(4);
    client.close();
  });
});
