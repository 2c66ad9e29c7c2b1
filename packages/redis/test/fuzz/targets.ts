/** Fuzz targets: RESP, and the messages that scripts publish. */

import assert from 'node:assert/strict';

import type { FuzzTarget } from '@incumbent/test-support/fuzz';
import fc from 'fast-check';

import { readChanges, fieldsIn } from '../../src/protocol/changes.ts';
import { storedEntryOf } from '../../src/protocol/entries.ts';
import { verifierFrom, MessageVerifier, signatureOf } from '../../src/protocol/signature.ts';
import { ExchangeError } from '../../src/protocol/failure.ts';
import { Reader } from '../../src/protocol/reader.ts';
import { encodeRequest, ErrorReply, isList, type Reply } from '../../src/protocol/resp.ts';
import { plainReply, type PlainMessage } from '../protocol/plain.ts';

const isMalformed = (error: unknown): boolean => error instanceof ExchangeError && error.failure.kind === 'malformed';

const word = fc.oneof(fc.string({ maxLength: 12 }), fc.constantFrom('ns/a', '17', '-1', '', '9'.repeat(19)));

/** As a server writes it. */
const reply: fc.Arbitrary<string> = fc.letrec<{ reply: string }>((tie) => ({
  reply: fc.oneof(
    { maxDepth: 3 },
    word.map((text) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`),
    word.map((text) => `=${Buffer.byteLength(text) + 4}\r\ntxt:${text}\r\n`),
    fc.constantFrom('+OK\r\n', '-ERR no\r\n', ':7\r\n', '_\r\n', ',1.5\r\n', '#t\r\n', '$-1\r\n', '*-1\r\n', '(123\r\n', '!5\r\nERR a\r\n'),
    fc
      .tuple(fc.constantFrom('*', '~', '>'), fc.array(tie('reply'), { maxLength: 4 }))
      .map(([kind, items]) => `${kind}${items.length}\r\n${items.join('')}`),
    fc
      .tuple(fc.constantFrom('%', '|'), fc.array(fc.tuple(tie('reply'), tie('reply')), { maxLength: 2 }))
      .map(([kind, pairs]) => `${kind}${pairs.length}\r\n${pairs.flat().join('')}`),
  ),
})).reply;

/** The messages of a stream that arrives in chunks of this length, up to a fault. */
function messagesIn(stream: Uint8Array, chunkBytes: number): { readonly messages: readonly PlainMessage[]; readonly isRefused: boolean } {
  const messages: PlainMessage[] = [];
  const reader = new Reader(({ isPush, reply: found }) => {
    use(found);
    messages.push({ isPush, reply: plainReply(found) });
  });
  try {
    for (let at = 0; at < stream.length; at += chunkBytes) reader.push(stream.subarray(at, at + chunkBytes));
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { messages, isRefused: true };
  }
  return { messages, isRefused: false };
}

/** What the adapter does with an answer. */
function use(answer: Reply): void {
  if (answer instanceof ErrorReply) assert.equal(typeof answer.code, 'string');
  for (const read of [verifierFrom, storedEntryOf]) {
    try {
      read(answer);
    } catch (error) {
      if (!isMalformed(error)) throw error;
    }
  }
  if (isList(answer)) for (const item of answer) use(item);
}

const resp: FuzzTarget = {
  name: 'resp',
  inputs: fc.array(reply, { minLength: 1, maxLength: 3 }).map((all) => new TextEncoder().encode(all.join(''))),
  words: ['\r\n', '$', '*', '%1\r\n', '|1\r\n', '>2\r\n', '$-1\r\n', '*2\r\n', ':1\r\n', '=8\r\ntxt:'],
  read: (input) => {
    assert.deepEqual(messagesIn(input, 7), messagesIn(input, 1));
    // A request that is written can be read again, whatever its bytes.
    const { messages } = messagesIn(encodeRequest([input, 'x']), 5);
    assert.deepEqual(messages, [{ isPush: false, reply: [new Uint8Array(input), new TextEncoder().encode('x')] }]);
  },
  isRefusal: () => false,
};

const SECRET = 'secret';
const entry = fc.tuple(word, word, fc.bigInt({ min: 0n, max: 10n ** 18n }).map(String), word, fc.integer({ min: -1 }).map(String), word);
const change = fc.oneof(
  entry.map((words) => ['p', ...words]),
  fc.tuple(fc.constantFrom('d', 'u'), word).map((words) => words),
);
const message = fc
  .tuple(fc.bigInt({ min: 0n, max: 10n ** 16n }), fc.array(change, { maxLength: 3 }))
  .map(([stamp, changes]) => [String(stamp), ...changes.flat()].map((text) => `${Buffer.byteLength(text)}:${text}`).join(''));

const changes: FuzzTarget = {
  name: 'changes',
  inputs: message.map((text) => new TextEncoder().encode(text)),
  words: ['1:p', '1:d', '1:u', '0:', '1:', '19:'],
  read: (input) => {
    // A message signed with another secret is not read.
    const signed = Uint8Array.from([...signatureOf(SECRET, input), ...input]);
    assert.equal(new MessageVerifier('other', 0n).verify(signed), undefined);
    const verifier = new MessageVerifier(SECRET, 0n);
    const words = verifier.verify(signed);
    if (words === undefined) return;
    assert.equal(verifier.verify(signed), undefined);
    assert.deepEqual(words, fieldsIn(input).slice(1));
    readChanges(words);
  },
  isRefusal: isMalformed,
};

export const targets: readonly FuzzTarget[] = [resp, changes];
