/** Real sockets. TLS is tested against the real servers of each adapter. */

import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { createServer as createTlsServer } from 'node:tls';
import { useTestSockets } from '@incumbent/test-support/test-sockets';
import { describe, expect, it } from 'vitest';

import { connectSocket, freeChunk, judgeSocket } from '@incumbent/network';

const { servers, sockets, listen } = useTestSockets();

describe('connecting', () => {
  it('rejects at an abort with its reason, and leaves no socket', async () => {
    const endpoint = await listen(createServer());
    const controller = new AbortController();
    // With TLS it waits for the other side.
    const connecting = connectSocket(endpoint, { tls: {} }, controller.signal);
    await once(servers[0]!, 'connection');
    const closed = once(sockets[0]!, 'close');
    controller.abort('enough');
    await expect(connecting).rejects.toBe('enough');
    await closed;
    await expect(connectSocket(endpoint, { tls: {} }, controller.signal)).rejects.toBe('enough');
  });

  it('resolves with a socket whose later errors do not end the process', async () => {
    const endpoint = await listen(createServer());
    const socket = await connectSocket(endpoint, {}, new AbortController().signal);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.destroy(new Error('later'));
    await closed;
    expect(socket.destroyed).toBe(true);
  });

  it.each([
    ['at once', (socket: Socket) => void socket.resetAndDestroy()],
    ['as TLS begins', (socket: Socket) => void socket.once('data', () => socket.resetAndDestroy())],
    ['as TLS begins, in order', (socket: Socket) => void socket.once('data', () => socket.end())],
  ])('to a server that hangs up %s rejects, and says that TLS was not agreed on', async (_, hangUp) => {
    const endpoint = await listen(createServer(hangUp));
    await expect(connectSocket(endpoint, { tls: {} }, new AbortController().signal)).rejects.toMatchObject({
      message: expect.stringMatching(/ended the connection before TLS was agreed on/),
      cause: { code: 'ECONNRESET' },
    });
  });

  it('by TLS sends the host name or the servername option, but no address', async () => {
    const told: string[] = [];
    const server = createTlsServer({
      SNICallback: (name, done) => {
        told.push(name);
        done(new Error('no certificate'));
      },
    });
    const { host, port } = await listen(server);
    const connect = async (to: string, servername?: string): Promise<void> => {
      const tls = servername === undefined ? {} : { servername };
      await expect(connectSocket({ host: to, port }, { tls }, new AbortController().signal)).rejects.toThrow(Error);
    };
    await connect('localhost');
    await connect(host, 'redis.example');
    await connect(host);
    expect(told).toEqual(['localhost', 'redis.example']);
  });

  it('by TLS to a server with older versions only fails for good', async () => {
    const server = createTlsServer({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' });
    const endpoint = await listen(server);
    const connecting = connectSocket(endpoint, { tls: {} }, new AbortController().signal);
    const error: unknown = await connecting.catch((cause: unknown) => cause);
    expect(judgeSocket(error)).toEqual(['UNSUPPORTED', 'refused']);
  });

  it('to a port on which nobody listens rejects with the system’s error', async () => {
    const endpoint = await listen(createServer());
    await new Promise((resolve) => servers.pop()!.close(resolve));
    await expect(connectSocket(endpoint, {}, new AbortController().signal)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

describe('freeing a chunk', () => {
  it('frees the memory of a chunk that our socket has emitted', async () => {
    const endpoint = await listen(createServer((peer) => peer.write(new Uint8Array(100_000))));
    const socket = await connectSocket(endpoint, {}, new AbortController().signal);
    const chunk = await new Promise<Uint8Array>((resolve) => socket.once('data', resolve));
    expect(chunk.length).toBeGreaterThan(0);
    freeChunk(socket, chunk);
    expect(chunk).toHaveLength(0);
    socket.destroy();
  });

  it('leaves the chunk of another stream alone', () => {
    const chunk = new Uint8Array(100_000);
    freeChunk(new PassThrough(), chunk);
    expect(chunk).toHaveLength(100_000);
  });
});
