import { expect, it } from 'vitest';

import { MAX_SEALED_BYTES, Seal, signatureOf } from '../../src/protocol/signature.ts';

const SECRET = 'secret';

/** As a script signs it. */
function messageOf(stamp: string, length: number): Uint8Array {
  const head = `${stamp.length}:${stamp}`;
  const payload = Buffer.from(`${head}${length}:${'k'.repeat(length)}`);
  return Buffer.concat([signatureOf(SECRET, payload), payload]);
}

it('a message that no script would send is not hashed, however it is signed', () => {
  const seal = new Seal(SECRET, 0n);
  expect(seal.open(messageOf('1', 1_000))).toHaveLength(1);
  expect(seal.open(messageOf('2', MAX_SEALED_BYTES - 100))).toHaveLength(1);
  expect(seal.open(messageOf('3', MAX_SEALED_BYTES))).toBeUndefined();
  expect(seal.last).toBe(2n);
});
