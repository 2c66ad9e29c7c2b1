/** Makes inputs from other inputs by random changes that a seed determines. */

import { MAX_INPUT_BYTES } from './target.ts';

/** A number from 0 (included) to 1 (excluded). */
export type Chance = () => number;

const MAX_CHANGES = 6;
const MAX_PIECE_BYTES = 64;
/** Lengths, counts and signs that readers commonly test. */
const NUMBERS = [0, 1, -1, 2, 4, 8, 127, 128, 255, 256, 32_767, 65_535, 2 ** 31 - 1, -(2 ** 31), 2 ** 24];
const DIGITS = ['0', '-1', '1', '9007199254740993', '9223372036854775808', '99999999999999999999', '1e999', '-0', '1.5', '00'];

/** Changes an input in up to six places. `others`: inputs to take pieces from. */
export function mutate(input: Uint8Array, others: readonly Uint8Array[], words: readonly string[], chance: Chance): Uint8Array {
  let bytes = Buffer.from(input);
  const changes = 1 + Math.floor(chance() * MAX_CHANGES);
  for (let i = 0; i < changes; i += 1) bytes = change(bytes, others, words, chance);
  return new Uint8Array(bytes.subarray(0, MAX_INPUT_BYTES));
}

function change(bytes: Buffer, others: readonly Uint8Array[], words: readonly string[], chance: Chance): Buffer<ArrayBuffer> {
  const at = Math.floor(chance() * (bytes.length + 1));
  const to = Math.min(bytes.length, at + 1 + Math.floor(chance() * MAX_PIECE_BYTES));
  const piece = bytes.subarray(at, to);
  switch (Math.floor(chance() * 9)) {
    case 0:
      return replaced(bytes, at, at + 1, [(bytes[at] ?? 0) ^ (1 << Math.floor(chance() * 8))]);
    case 1:
      return replaced(bytes, at, at + 1, [Math.floor(chance() * 256)]);
    case 2:
      return replaced(bytes, at, at, [Math.floor(chance() * 256)]);
    case 3:
      return replaced(bytes, at, to, []);
    case 4:
      return replaced(bytes, at, at, piece);
    case 5:
      return replaced(bytes, at, at + 4, numberBytes(pick(NUMBERS, chance) ?? 0));
    case 6:
      return replacedNumber(bytes, chance);
    case 7: {
      const other = pick(others, chance) ?? bytes;
      const from = Math.floor(chance() * other.length);
      return replaced(bytes, at, to, other.subarray(from, from + 1 + Math.floor(chance() * MAX_PIECE_BYTES)));
    }
    default:
      return replaced(bytes, at, at, Buffer.from(pick(words, chance) ?? ''));
  }
}

function replaced(bytes: Buffer, from: number, to: number, by: Uint8Array | readonly number[]): Buffer<ArrayBuffer> {
  return Buffer.concat([bytes.subarray(0, from), Uint8Array.from(by), bytes.subarray(to)]);
}

/** Big-endian, as in every format here. */
function numberBytes(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** Replaces a number that is written in digits. */
function replacedNumber(bytes: Buffer, chance: Chance): Buffer<ArrayBuffer> {
  const found = pick([...bytes.toString('latin1').matchAll(/-?\d+/g)], chance);
  if (found === undefined) return Buffer.from(bytes);
  return replaced(bytes, found.index, found.index + found[0].length, Buffer.from(pick(DIGITS, chance) ?? ''));
}

export function pick<T>(items: readonly T[], chance: Chance): T | undefined {
  return items[Math.floor(chance() * items.length)];
}
