/** The answers of Sentinels, which here are servers of this process. */

import { describe, expect, it } from 'vitest';

import type { Client } from '../../src/client/client.ts';
import { sentinelServers } from '../../src/client/sentinel.ts';
import { toStoreError, withAclGrant } from '../../src/errors.ts';
import { bulk, FakeServers, hello, list, type Peer } from '../fake-servers.ts';
import { KEYSPACE } from '../watch-scene.ts';
import { endOf, ping } from './calls.ts';

const CALL = { timeoutMs: 10_000 };
const ASK_AGAIN_MS = 2_000;
const SENTINELS = [1, 2, 3].map((port) => ({ host: 's', port }));
const SENTINEL_HELLO = `%2\r\n${['server', 'redis', 'mode', 'sentinel'].map(bulk).join('')}`;
const naming = (host: string): string => list([host, '6379'].map(bulk));

/** What each Sentinel answers, and the role of each server. */
interface World {
  readonly answers: Record<string, string>;
  readonly roles: Record<string, string>;
}

function startWorld({ answers, roles }: World): { readonly servers: FakeServers; readonly client: Client } {
  const names = new Map<Peer, string>();
  const servers: FakeServers = new FakeServers(([name], peer) => {
    const dialed = names.get(peer) ?? servers.dialed.at(-1) ?? '';
    names.set(peer, dialed);
    const isSentinel = dialed.startsWith('s:');
    if (name === 'HELLO') return isSentinel ? (answers[`hello ${dialed}`] ?? SENTINEL_HELLO) : hello({ role: roles[dialed] ?? 'master' });
    if (name === 'SLOW') return undefined;
    return name === 'SENTINEL' ? (answers[dialed] ?? naming('primary')) : '+PONG\r\n';
  });
  const sentinels = {
    endpoints: SENTINELS,
    master: 'mymaster',
    credentials: { username: 'finder', password: 'p' },
    connect: servers.connect,
  };
  const client = servers.client({
    servers: sentinelServers({ ...sentinels, clock: servers.clock, timeoutMs: 500 }),
  });
  return { servers, client };
}

const messageOf = async (servers: FakeServers, call: Promise<unknown>): Promise<string> => {
  const ended = call.then(String, (error: unknown) => toStoreError(error, 'call').message);
  return servers.clock.run(ended);
};

describe('a client with Sentinels', () => {
  it('dials the server that the first Sentinel names, and asks again for each connection', async () => {
    const world = { answers: { 's:1': naming('a') }, roles: {} };
    const { servers, client } = startWorld(world);
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    servers.peer.cut();
    world.answers['s:1'] = naming('b');
    await servers.clock.advance(1);
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.dialed).toEqual(['s:1', 'a:6379', 's:1', 'b:6379']);
    // The Sentinel is needed no more until the client asks again.
    expect(servers.peers.map(({ left }) => left)).toEqual([true, true, true, false]);
    client.close();
  });

  it('asks the next Sentinel if one refuses connections, says nothing, or does not know the primary; then begins with the one that answered', async () => {
    const { servers, client } = startWorld({ answers: { 's:1': '', 's:2': '_\r\n' }, roles: {} });
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.clock.monotonic()).toBe(500);
    servers.peer.cut();
    servers.refused.add('s:3');
    servers.refused.add('s:1');
    await servers.clock.advance(1);
    expect(await endOf(servers, client.call(ping, CALL))).toBe('UNREACHABLE notSent');
    expect(servers.dialed).toEqual(['s:1', 's:2', 's:3', 'primary:6379', 's:3', 's:1', 's:2']);
    client.close();
  });

  it('asks the next Sentinel if the server that one named is a replica: that Sentinel was cut off', async () => {
    const { servers, client } = startWorld({
      answers: { 's:1': naming('old'), 's:2': naming('old'), 's:3': naming('new') },
      roles: { 'old:6379': 'replica' },
    });
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.dialed).toEqual(['s:1', 'old:6379', 's:2', 's:3', 'new:6379']);
    client.close();
  });

  it('is unavailable while all Sentinels name a server that is a replica', async () => {
    const { servers, client } = startWorld({ answers: {}, roles: { 'primary:6379': 'replica' } });
    expect(await endOf(servers, client.call(ping, CALL))).toBe('UNAVAILABLE notSent');
    client.close();
  });

  it.each([
    [
      '-WRONGPASS invalid username-password pair\r\n',
      'hello ',
      'UNAUTHENTICATED refused',
      /Sentinel s:1: WRONGPASS.*sentinel\.credentials/,
    ],
    ['-NOAUTH HELLO must be called\r\n', 'hello ', 'UNAUTHENTICATED refused', /Sentinel s:1: NOAUTH.*sentinel\.credentials/],
    [hello(), 'hello ', 'UNSUPPORTED refused', /Sentinel s:1: it is no Sentinel/],
    ['_\r\n', '', 'UNSUPPORTED refused', /Sentinel s:1: it watches no primary named "mymaster": check sentinel\.master/],
    ['-NOPERM this user has no permissions\r\n', '', 'PERMISSION_DENIED refused', /Sentinel s:1: NOPERM/],
    [':1\r\n', '', 'UNSUPPORTED refused', /Sentinel s:1: the answer cannot be read/],
    ['', '', 'UNREACHABLE notSent', /none of the 3 Sentinels named a primary: Sentinel s:1: no answer within 500 ms/],
  ])('fails if all Sentinels answer %j', async (answer, to, end, message) => {
    const { servers, client } = startWorld({ answers: Object.fromEntries([1, 2, 3].map((n) => [`${to}s:${n}`, answer])), roles: {} });
    expect(await endOf(servers, client.call(ping, CALL))).toBe(end);
    expect(await messageOf(servers, client.call(ping, CALL))).toMatch(message);
    expect(servers.dialed.filter((name) => !name.startsWith('s:'))).toEqual([]);
    client.close();
  });

  it.each(['', 'hello '])('names the grant for the user of the Sentinels if all Sentinels deny permission to %j', async (to) => {
    const answers = Object.fromEntries([1, 2, 3].map((n) => [`${to}s:${n}`, "-NOPERM no permissions to run the 'x' command\r\n"]));
    const { servers, client } = startWorld({ answers, roles: {} });
    const failed = client.call(ping, CALL).catch((error: unknown) => withAclGrant(toStoreError(error, 'call'), KEYSPACE));
    expect(await servers.clock.run(failed)).toMatchObject({
      code: 'PERMISSION_DENIED',
      outcome: 'refused',
      details: { keys: [], grant: 'ACL SETUSER finder +hello +sentinel|get-master-addr-by-name' },
    });
    client.close();
  });

  it('leaves a primary that still accepts writes when a Sentinel names another one, and asks on one connection', async () => {
    const world: World = { answers: { 's:1': naming('a') }, roles: {} };
    const { servers, client } = startWorld(world);
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    await servers.clock.advance(10 * ASK_AGAIN_MS);
    expect(servers.dialed).toEqual(['s:1', 'a:6379', 's:1']);
    world.answers['s:1'] = naming('b');
    await servers.clock.advance(ASK_AGAIN_MS);
    // Both the old primary and the Sentinel are left.
    expect(servers.peers.map(({ left }) => left)).toEqual([true, true, true]);
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.dialed.slice(3)).toEqual(['s:1', 'b:6379']);
    client.close();
  });

  it('gets the answers of the primary that it leaves', async () => {
    const world: World = { answers: { 's:1': naming('a') }, roles: {} };
    const { servers, client } = startWorld(world);
    await endOf(servers, client.call(ping, CALL));
    const primary = servers.peer;
    await servers.clock.advance(ASK_AGAIN_MS - 1);
    const inFlight = client.call((connection) => connection.request(['SLOW'], (reply) => reply), CALL);
    world.answers['s:1'] = naming('b');
    await servers.clock.advance(1);
    expect(servers.dialed).toEqual(['s:1', 'a:6379', 's:1']);
    expect(primary.left).toBe(false);
    primary.say('+DONE\r\n');
    expect(await endOf(servers, inFlight)).toBe('DONE');
    expect(primary.left).toBe(true);
    client.close();
  });

  it('asks the next Sentinel whether the primary was replaced if one fails, and keeps the primary while none answers', async () => {
    const world: World = { answers: { 's:1': naming('a'), 's:2': naming('a'), 's:3': naming('a') }, roles: {} };
    const { servers, client } = startWorld(world);
    await endOf(servers, client.call(ping, CALL));
    for (const { host, port } of SENTINELS) servers.refused.add(`${host}:${port}`);
    await servers.clock.advance(4 * ASK_AGAIN_MS);
    expect(servers.dialed).toEqual(['s:1', 'a:6379', 's:1', 's:2', 's:3', 's:1']);
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    expect(servers.dialed).toHaveLength(6);
    servers.refused.clear();
    world.answers['s:2'] = naming('b');
    await servers.clock.advance(ASK_AGAIN_MS);
    expect(await endOf(servers, client.call(ping, CALL))).toBe('PONG');
    // The second Sentinel knows of the new primary. The first one may not know it yet.
    expect(servers.dialed.slice(6)).toEqual(['s:2', 's:2', 'b:6379']);
    client.close();
  });

  it('asks no Sentinel any more when it is closed', async () => {
    const { servers, client } = startWorld({ answers: {}, roles: {} });
    await endOf(servers, client.call(ping, CALL));
    await servers.clock.advance(ASK_AGAIN_MS);
    client.close();
    await servers.clock.advance(0);
    expect(servers.clock.timers).toBe(0);
    expect(servers.peers.every(({ left }) => left)).toBe(true);
  });

  it('that closes while it asks leaves no connection and no timer', async () => {
    const { servers, client } = startWorld({ answers: { 's:1': '' }, roles: {} });
    const call = endOf(servers, client.call(ping, CALL));
    client.close();
    expect(await call).toBe('STORE_CLOSED notSent');
    await servers.clock.advance(0);
    expect(servers.clock.timers).toBe(0);
    expect(servers.peers.every(({ left }) => left)).toBe(true);
  });
});
