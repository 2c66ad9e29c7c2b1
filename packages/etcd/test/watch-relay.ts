/**
 * A proxy between a client and an etcd that can silence the watches alone: it still answers pings
 * and forwards calls.
 */

import {
  connect,
  constants,
  createServer,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';

import { freePort } from '@incumbent/test-support';

import { WATCH_PATH } from '../src/protocol/watch.ts';

export interface WatchRelay {
  readonly url: string;
  /**
   * Drops everything that arrives for the open watches, in both directions. Serves later watches.
   */
  silence(): void;
  /** Ends the streams that it has silenced. */
  heal(): void;
  close(): Promise<void>;
}

/** One stream of a client, and the one of the server that belongs to it. */
interface Pair {
  readonly down: ServerHttp2Stream;
  readonly up: ClientHttp2Stream;
  readonly isWatch: boolean;
  isSilent: boolean;
}

export async function startWatchRelay(target: string): Promise<WatchRelay> {
  const sessions = new Map<Http2Session, ClientHttp2Session>();
  const pairs = new Set<Pair>();
  const server = createServer();
  server.on('session', (session) => {
    const upstream = connect(target);
    sessions.set(session, upstream);
    session.on('error', () => {});
    upstream.on('error', () => session.destroy());
    upstream.on('close', () => session.destroy());
    session.on('close', () => {
      sessions.delete(session);
      upstream.destroy();
    });
  });
  server.on('stream', (down, headers) => {
    const upstream = down.session === undefined ? undefined : sessions.get(down.session);
    if (upstream === undefined || upstream.destroyed) return down.close(constants.NGHTTP2_REFUSED_STREAM);
    const pair = { down, up: upstream.request(headers), isWatch: headers[':path'] === WATCH_PATH, isSilent: false };
    pairs.add(pair);
    join(pair, () => pairs.delete(pair));
  });
  const port = await freePort();
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${port}`,
    silence: () => {
      for (const pair of pairs) pair.isSilent ||= pair.isWatch;
    },
    heal: () => {
      for (const { down, isSilent } of pairs) if (isSilent) down.close(constants.NGHTTP2_INTERNAL_ERROR);
    },
    close: () => {
      for (const session of sessions.keys()) session.destroy();
      return new Promise((resolve) => void server.close(() => resolve()));
    },
  };
}

/**
 * Passes everything on, both ways, as long as the pair is not silent; the end of one is the end of
 * the other.
 */
function join(pair: Pair, ended: () => void): void {
  const { down, up } = pair;
  down.on('data', (bytes: Buffer) => void (pair.isSilent || up.write(bytes)));
  down.on('end', () => void (pair.isSilent || up.end()));
  up.on('response', (headers, flags) => {
    if (pair.isSilent || down.destroyed) return;
    const isLast = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    down.respond(headers, isLast ? { endStream: true } : { waitForTrailers: true });
  });
  let trailers: IncomingHttpHeaders = {};
  up.on('trailers', (sent: IncomingHttpHeaders) => {
    trailers = sent;
  });
  down.on('wantTrailers', () => down.sendTrailers(trailers));
  up.on('data', (bytes: Buffer) => void (pair.isSilent || down.destroyed || down.write(bytes)));
  up.on('end', () => void (pair.isSilent || down.destroyed || down.end()));
  for (const stream of [down, up]) stream.on('error', () => {});
  down.on('close', () => {
    ended();
    up.close(down.rstCode);
  });
  up.on('close', () => void (pair.isSilent || up.rstCode === 0 || down.close(up.rstCode)));
}
