/** A Redis server that answers with too much data. */

import { LONG_BYTES, many, oneByOne, pour, serve, TINY_BYTES, type Attack, type HostileServer } from './server.ts';

const HELLO = '*6\r\n$6\r\nserver\r\n+redis\r\n$7\r\nversion\r\n+7.4.0\r\n$4\r\nrole\r\n+master\r\n';
const MEMORY = 'maxmemory_policy:noeviction\r\n';
/**
 * The requests on a new connection: the greeting, the permissions, the memory, and whether scripts
 * run.
 */
const GREETING = [HELLO, '*0\r\n', `$${MEMORY.length}\r\n${MEMORY}\r\n`, '*0\r\n'] as const;
/** The arguments of EVALSHA before the reads, and those of each read. */
const READ_ARGUMENTS = 5;

/** The answer to reads of an empty store. `count`: the number of words in the request. */
function nothingFor(count: number): string {
  const reads = Math.max(1, Math.floor((count - READ_ARGUMENTS) / READ_ARGUMENTS));
  return `*${reads}\r\n${'*0\r\n'.repeat(reads)}`;
}

/** Nearly as many as an answer may have. */
const MOST_VALUES = 130_000;

function* attackOf(attack: Attack, turn: number): Generator<Uint8Array> {
  switch (attack) {
    case 'endless before authentication':
    case 'endless after it':
      yield Buffer.from(`*${MOST_VALUES}\r\n`);
      yield* many(`$1000\r\n${'a'.repeat(1_000)}\r\n`);
      return;
    case 'tiny values':
      if (turn % 2 === 0) {
        yield Buffer.from(`*${TINY_BYTES / 8}\r\n`);
        yield* many('$1\r\na\r\n', TINY_BYTES);
        return;
      }
      for (let sent = 0; sent < TINY_BYTES; sent += MOST_VALUES * 7) {
        yield Buffer.from(`*${MOST_VALUES}\r\n`);
        yield* many('$1\r\na\r\n', MOST_VALUES * 7);
      }
      return;
    case 'endless body':
      for (;;) {
        yield Buffer.from(`$${LONG_BYTES}\r\n`);
        yield* many('a', LONG_BYTES);
        yield Buffer.from('\r\n');
      }
    case 'one byte at a time':
      yield Buffer.from(`$${LONG_BYTES}\r\n`);
      yield* oneByOne(LONG_BYTES);
      return;
    default:
      throw new Error(attack satisfies never);
  }
}

export function hostileRedis(): Promise<HostileServer> {
  let turns = 0;
  return serve(
    (host) => `redis://${host}/hostile`,
    ({ socket, attack }) => {
      let asked = 0;
      let isPouring = false;
      socket.setEncoding('latin1').on('data', (text: string) => {
        // Each request is a list.
        for (const [, count] of text.matchAll(/(?:^|\r\n)\*(\d+)\r\n\$/g)) {
          asked += 1;
          if (isPouring) return;
          const polite = attack === 'endless before authentication' ? undefined : GREETING[asked - 1];
          if (polite !== undefined) socket.write(polite);
          else if (attack === undefined) socket.write(nothingFor(Number(count)));
          else {
            isPouring = true;
            void pour(socket, attackOf(attack, (turns += 1)));
          }
        }
      });
    },
  );
}
