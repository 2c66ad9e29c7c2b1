/** A Consul agent that responds with too much data. */

import { many, pour, serve, TINY_BYTES, type Attack, type HostileServer } from './server.ts';

/** The longest list that the adapter accepts has 8.5 MiB, in pairs of at most 1 MiB. */
const LIST_BYTES = 8 * 2 ** 20;
const LONG_VALUE_BYTES = 1_000_000;
/** Nearly the most pairs that the adapter accepts in a list. */
const MOST_PAIRS = 40_000;

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Consul-Index: 7\r\n';
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;
const NOTHING = 'HTTP/1.1 404 Not Found\r\nX-Consul-Index: 7\r\nContent-Length: 0\r\n\r\n';
const TINY_PAIR = '{"Key":"hostile/members/a","CreateIndex":7,"ModifyIndex":7}';
const PAIR = '{"Key":"hostile/members/a","CreateIndex":7,"ModifyIndex":7,"Session":"","Value":"';
const LONG_PAIR = `${PAIR}${'a'.repeat(LONG_VALUE_BYTES)}"}`;

const chunkOf = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

function* whole(begin: string, piece: string, count: number, end: string): Generator<Uint8Array> {
  const length = piece.length * count;
  yield Buffer.from(`${HEAD}Content-Length: ${begin.length + length + end.length}\r\n\r\n${begin}`);
  yield* many(piece, length);
  yield Buffer.from(end);
}

function* attackOf(attack: Attack, turn: number): Generator<Uint8Array> {
  switch (attack) {
    case 'endless before authentication':
      yield Buffer.from('HTTP/1.1 200 OK\r\n');
      return yield* many(`X-More: ${'a'.repeat(1_000)}\r\n`);
    case 'endless after it':
      yield Buffer.from(CHUNKED + chunkOf(`[${PAIR}`));
      return yield* many(chunkOf('a'.repeat(16_384)));
    case 'tiny values':
      if (turn % 3 === 0) {
        yield Buffer.from(CHUNKED + chunkOf('['));
        return yield* many(chunkOf('1,'.repeat(8_192)), TINY_BYTES);
      }
      return yield* turn % 3 === 1
        ? whole('[', '[],', LIST_BYTES / 3 - 1, '[]]')
        : whole('[', `${TINY_PAIR},`, MOST_PAIRS, `${TINY_PAIR}]`);
    case 'endless body':
      return yield* whole('[', `${LONG_PAIR},`, Math.floor(LIST_BYTES / LONG_VALUE_BYTES) - 1, `${LONG_PAIR}]`);
    case 'one byte at a time':
      yield Buffer.from(CHUNKED);
      return yield* many(chunkOf('a'));
    default:
      throw new Error(attack satisfies never);
  }
}

export function hostileConsul(): Promise<HostileServer> {
  let turns = 0;
  return serve(
    (host) => `consul://${host}/hostile?session=ttl`,
    ({ socket, attack }) => {
      socket.setEncoding('latin1').on('data', (text: string) => {
        for (const [, path = ''] of text.matchAll(/(?:GET|PUT) (\S+) HTTP/g)) {
          const isList = path.includes('recurse') || path.includes('keys');
          if (attack === undefined || (!isList && attack !== 'endless before authentication')) socket.write(NOTHING);
          else void pour(socket, attackOf(attack, (turns += 1)));
        }
      });
    },
  );
}
