import { describe, expect, it } from 'vitest';

import { MAX_MESSAGE_BYTES, MessageVerifier, signatureOf, verifierFrom } from '../../src/protocol/signature.ts';

const SECRET = 'secret';

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

/** Signed as a script signs it. */
function messageOf(stamp: string, length: number): Uint8Array {
  const head = `${stamp.length}:${stamp}`;
  const payload = Buffer.from(`${head}${length}:${'k'.repeat(length)}`);
  return Buffer.concat([signatureOf(SECRET, payload), payload]);
}

it('a message longer than any of a script is rejected before it is hashed, however it is signed', () => {
  const verifier = new MessageVerifier(SECRET, 0n);
  expect(verifier.verify(messageOf('1', 1_000))).toHaveLength(1);
  expect(verifier.verify(messageOf('2', MAX_MESSAGE_BYTES - 100))).toHaveLength(1);
  expect(verifier.verify(messageOf('3', MAX_MESSAGE_BYTES))).toBeUndefined();
  expect(verifier.lastStamp).toBe(2n);
});

describe('the answer of the script for the secret', () => {
  it.each([[], ['secret'], ['', '1'], ['secret', ''], ['secret', 'x'], ['secret', '-1'], ['secret', '1e3'], ['secret', '9'.repeat(20)]])(
    'cannot be %j %j',
    (...words) => {
      expect(() => verifierFrom(words.map(bytes))).toThrow(/cannot be read/);
    },
  );

  it('is a secret and the last stamp that was given', () => {
    expect(verifierFrom(['secret', '1700000000000000'].map(bytes)).lastStamp).toBe(1_700_000_000_000_000n);
  });
});
