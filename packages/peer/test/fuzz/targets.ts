/** The fuzzer's targets: the decoders of frames, handshakes, messages and the vote file. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';

import { isIncumbentError } from '@incumbent/core';
import type { FuzzTarget } from '@incumbent/test-support/fuzz';
import fc from 'fast-check';

import { bully, emergent, quorum, ring, voteFile, type Vote } from '../../src/index.ts';
import { decodePacket, encodePacket } from '../../src/tcp/codec.ts';
import { HANDSHAKE_BYTES, handshakeAsDialer, newIncarnation, handshakeAsListener, type MemberIdentity } from '../../src/tcp/handshake.ts';
import { Refused } from '../../src/tcp/refusal.ts';
import { Wire } from '../../src/tcp/wire.ts';
import { framed, line, PREFACE, settled } from '../tcp/stranger.ts';

const members = ['a', 'b', 'c'];
const readers: readonly { readMessage(data: unknown): unknown }[] = [
  quorum({ members }),
  bully({ members }),
  ring({ members }),
  emergent({ cluster: 'e' }),
];

const id = fc.constantFrom('a', 'b', 'c', 'd');
const term = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
const position = fc.record({ lastTerm: term, lastIndex: term });
const contact = fc.record({ memberId: id, address: fc.constant('h:1') });
const entry = fc.record({ memberId: id, address: fc.constant('h:1'), incarnation: fc.nat(), age: fc.nat(), standing: fc.boolean() });
const list = fc.record({
  version: fc.nat(),
  round: fc.nat(3),
  maker: id,
  members: fc.array(entry, { maxLength: 3 }),
  lost: fc.array(contact, { maxLength: 2 }),
  minorityOf: fc.array(id, { maxLength: 2 }),
});
const message = fc.record(
  {
    type: fc.constantFrom(
      ...['preVote', 'preVoteAnswer', 'vote', 'voteAnswer', 'heartbeat', 'heartbeatAnswer', 'stale', 'handover', 'resigned'],
      ...['join', 'waiting', 'seek', 'update', 'ack', 'pull', 'current', 'removed', 'missed', 'ask', 'answer', 'probe', 'invite'],
      ...['merge', 'leave', 'election', 'coordinator', 'alive', 'poll', 'token', 'result'],
    ),
    term,
    poll: fc.nat(),
    round: fc.nat(),
    position,
    granted: fc.boolean(),
    byHandover: fc.boolean(),
    standing: fc.boolean(),
    incarnation: fc.nat(),
    version: fc.nat(),
    maker: id,
    coordinator: fc.oneof(id, contact),
    address: fc.constant('h:1'),
    mayFound: fc.boolean(),
    list,
    keys: fc.array(id, { maxLength: 3 }),
    claim: fc.nat(),
    search: fc.nat(),
    misses: fc.boolean(),
    into: contact,
  },
  { requiredKeys: ['type'], noNullPrototype: true },
);
const packet = fc
  .record({ election: fc.constant('e'), configuration: fc.constant('c'), message }, { noNullPrototype: true })
  .map(encodePacket);

const packets: FuzzTarget = {
  name: 'packets',
  inputs: packet,
  words: ['"type":"s', '"n1"', '"n9223372036854775807"', '"term":', 'null', '[[[[', '{"a":', '1e999', '-0', '__proto__', '"sa"'],
  read: (input) => {
    const read = decodePacket(input);
    if (read === undefined) return;
    assert.deepEqual(decodePacket(encodePacket(read)), read);
    for (const algorithm of readers) {
      const known = algorithm.readMessage(read.message);
      if (known === undefined) continue;
      const again = decodePacket(encodePacket({ ...read, message: known }));
      assert.deepEqual(
        encodePacket({ ...read, message: algorithm.readMessage(again?.message) }),
        encodePacket({ ...read, message: known }),
      );
    }
  },
  isRefusal: () => false,
};

const MAX_FRAME_BYTES = 4_096;

/** The frames in a stream that arrives in pieces of this length, and why it ended. */
async function framesIn(stream: Uint8Array, pieceBytes: number): Promise<readonly string[]> {
  const { socket } = line();
  const wire = new Wire(socket, MAX_FRAME_BYTES);
  const found: string[] = [];
  void wire.over.then((why) => found.push(why instanceof Refused ? `refused: ${why.reason}` : String(why)));
  wire.stream(MAX_FRAME_BYTES, (frame) => found.push(frame.toString('hex')));
  for (let at = 0; at < stream.length && !socket.destroyed; at += pieceBytes) socket.push(stream.subarray(at, at + pieceBytes));
  await settled();
  const seen = [...found];
  socket.destroy();
  return seen;
}

const frames: FuzzTarget = {
  name: 'frames',
  inputs: fc
    .array(fc.oneof(packet, fc.uint8Array({ maxLength: 20 })), { maxLength: 3 })
    .map((all) => Buffer.concat([PREFACE, ...all.map(framed)])),
  words: ['IncPeer1', 'IncPeer2', '\0\0\0\0', '\0\0\x10\x01'],
  read: async (input) => {
    const whole = await framesIn(input, input.length + 1);
    assert.deepEqual(await framesIn(input, 5), whole);
    for (const [at, one] of whole.entries())
      assert.ok(/^(?:[\da-f]{2})*$/.test(one) || (one.startsWith('refused: ') && at === whole.length - 1), one);
  },
  isRefusal: () => false,
};

const self: MemberIdentity = {
  memberId: 'a',
  incarnation: newIncarnation(),
  security: { kind: 'secret', secrets: [Buffer.alloc(32, 'secret')] },
};
const hex = (digits: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'.split('')), minLength: digits, maxLength: digits });
const said = fc.oneof(
  fc.record({
    type: fc.constant('hello'),
    from: fc.constantFrom('b', 'a', ''),
    to: fc.constantFrom('a', 'b'),
    incarnation: hex(32),
    nonce: hex(64),
    security: fc.constantFrom('secret', 'tls', 'insecure'),
  }),
  fc.record({ type: fc.constant('challenge'), incarnation: hex(32), nonce: hex(64) }),
  fc.record({ type: fc.constantFrom('proof', 'welcome'), proof: hex(64) }),
  fc.record({ type: fc.constant('refused'), reason: fc.constantFrom('wrongSecret', 'security', 'constructor', '') }),
);

/**
 * Rejects with the reason why a stranger that sends these messages and does not know the secret is
 * refused. Resolves if it is accepted.
 */
async function meet(input: Uint8Array, part: 'dialer' | 'listener'): Promise<unknown> {
  const { socket } = line();
  const wire = new Wire(socket, HANDSHAKE_BYTES);
  const door = { claimed: () => undefined, proved: () => undefined };
  const met = part === 'dialer' ? handshakeAsDialer(wire, self, 'b') : handshakeAsListener(wire, self, door);
  socket.push(input);
  socket.push(null);
  setImmediate(() => wire.destroy(new Refused('handshakeTimeout')));
  try {
    return await met;
  } finally {
    socket.destroy();
  }
}

const handshakes: FuzzTarget = {
  name: 'handshakes',
  inputs: fc
    .array(said, { minLength: 1, maxLength: 3 })
    .map((all) => Buffer.concat([PREFACE, ...all.map((one) => framed(JSON.stringify(one)))])),
  words: ['"type":"hello"', '"proof":""', '"proof":null', '"reason":"__proto__"', 'null', '[]'],
  read: async (input) => {
    for (const part of ['dialer', 'listener'] as const) {
      const met = await meet(input, part).catch((error: unknown) => error);
      assert.ok(met instanceof Refused, `${part}: ${String(met)}`);
    }
  },
  isRefusal: () => false,
};

const SLOT_BYTES = 4_096;
const BODY_AT = 18;
const vote = fc.record<Vote>({
  memberId: id,
  term,
  votedFor: fc.option(id, { nil: undefined }),
  members: fc.array(id, { maxLength: 3 }),
  promiseMs: fc.integer({ min: 50, max: 600_000 }),
});

/** A slot with a valid checksum and any body. */
function slotOf(number: bigint, body: Uint8Array): Buffer {
  const slot = Buffer.alloc(SLOT_BYTES);
  slot.write('IncVote1');
  slot.writeBigUInt64BE(number, 8);
  slot.writeUInt16BE(body.length, 16);
  slot.set(body, BODY_AT);
  const end = BODY_AT + body.length;
  slot.writeUInt32BE(crc32(slot.subarray(0, end)), end);
  return slot;
}

const MAX_BODY_BYTES = 3_072;

/** Uses the input once as the whole file, and once as the bodies of its two slots. */
function filesOf(input: Uint8Array): readonly Uint8Array[] {
  const middle = Math.min(MAX_BODY_BYTES, Math.floor(input.length / 2));
  const halves = [input.subarray(0, middle), input.subarray(middle, middle + MAX_BODY_BYTES)];
  return [input, ...halves.map((half) => Buffer.concat([slotOf(2n, half), slotOf(1n, new Uint8Array())]))];
}

const votes: FuzzTarget = {
  name: 'votes',
  inputs: fc.oneof(
    fc
      .tuple(vote, vote)
      .map((two) => new TextEncoder().encode(two.map((one) => JSON.stringify({ ...one, term: String(one.term) })).join(''))),
    fc.tuple(vote, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })).map(([one, number]) => {
      const body = Buffer.from(JSON.stringify({ ...one, term: String(one.term) }));
      return Buffer.concat([slotOf(number, body), slotOf(1n, new Uint8Array())]);
    }),
  ),
  words: ['IncVote1', '"term":"', '"memberId":', '"votedFor":null', '"members":[', '"promiseMs":', '1e999', 'null'],
  read: async (input) => {
    const folder = mkdtempSync(join(tmpdir(), 'incumbent-fuzz-'));
    try {
      for (const bytes of filesOf(input)) {
        const path = join(folder, 'vote');
        writeFileSync(path, bytes);
        await loadTwice(path);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  isRefusal: () => false,
};

/** Reading writes the vote again, so a second read must return the same. */
async function loadTwice(path: string): Promise<void> {
  const loaded: (Vote | undefined)[] = [];
  try {
    for (let i = 0; i < 2; i += 1) {
      const file = voteFile(path);
      try {
        loaded.push(await file.load());
      } finally {
        await file.close();
      }
    }
  } catch (error) {
    if (!isIncumbentError(error, 'CORRUPT')) throw error;
    return;
  }
  assert.deepEqual(loaded[1], loaded[0]);
}

export const targets: readonly FuzzTarget[] = [packets, frames, handshakes, votes];
