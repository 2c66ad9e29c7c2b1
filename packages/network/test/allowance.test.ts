import { describe, expect, it } from 'vitest';

import { AnswersTooLarge, ByteBuffer, Deframer, SharedAllowance, TinyPieces, type Framing } from '@incumbent/network';

/** A header of one byte. */
const framing: Framing = { headerBytes: 1, lengthIn: ([length = 0]) => length };

const bytes = (...values: readonly number[]): Uint8Array => new Uint8Array(values);

describe('an allowance that answers share', () => {
  it('refuses a length by which the shares together exceed it, and keeps what was taken before', () => {
    const answers = new SharedAllowance(10, 0);
    const [first, second] = [answers.share(), answers.share()];
    first.take(6);
    expect(() => second.take(5)).toThrow(AnswersTooLarge);
    second.take(4);
    expect(() => first.take(1)).toThrow(AnswersTooLarge);
  });

  it('does not count short answers, so that renewals continue while long answers take all of it', () => {
    const answers = new SharedAllowance();
    answers.share().take(34 * 2 ** 20);
    const share = answers.share();
    share.take(64 * 2 ** 10 - 1);
    expect(() => share.take(64 * 2 ** 10)).toThrow(AnswersTooLarge);
  });

  it('gets back what a share releases, once', () => {
    const answers = new SharedAllowance(10, 0);
    const [first, second] = [answers.share(), answers.share()];
    first.take(10);
    first.release();
    first.release();
    second.take(10);
    expect(() => first.take(1)).toThrow(AnswersTooLarge);
  });
});

describe('messages that arrive in pieces', () => {
  it('count against the allowance from their header until they are handed out', () => {
    const answers = new SharedAllowance(6, 0);
    const [a, b] = [new Deframer(framing, answers), new Deframer(framing, answers)];
    expect([...a.push(bytes(4, 1, 2))]).toEqual([]);
    expect(() => [...b.push(bytes(4, 1, 2))]).toThrow(AnswersTooLarge);
    expect([...a.push(bytes(3, 4))]).toEqual([bytes(1, 2, 3, 4)]);
    const c = new Deframer(framing, answers);
    expect([...c.push(bytes(6)), ...c.push(bytes(1, 2, 3, 4, 5, 6))]).toEqual([bytes(1, 2, 3, 4, 5, 6)]);
  });

  it('can wait until there is memory, and lose no byte', async () => {
    const answers = new SharedAllowance(6, 0);
    const [a, b] = [new Deframer(framing, answers), new Deframer(framing, answers)];
    expect([...a.push(bytes(4, 1))]).toEqual([]);
    expect(() => [...b.push(bytes(5, 1, 2))]).toThrow(AnswersTooLarge);
    expect(b.isWaiting).toBe(true);
    expect(() => [...b.retry()]).toThrow(AnswersTooLarge);
    const freed = new Promise<void>((resolve) => void answers.onFree(resolve));
    answers.onFree(() => expect.unreachable('it was cancelled'))();
    a.close();
    await freed;
    expect([...b.retry()]).toEqual([]);
    expect(b.isWaiting).toBe(false);
    expect([...b.push(bytes(3, 4, 5))]).toEqual([bytes(1, 2, 3, 4, 5)]);
  });

  it('no longer count when the reader is closed', () => {
    const answers = new SharedAllowance(6, 0);
    const a = new Deframer(framing, answers);
    expect([...a.push(bytes(6, 1))]).toEqual([]);
    a.close();
    expect([...new Deframer(framing, answers).push(bytes(6, 1))]).toEqual([]);
  });

  it('take nothing more of the allowance after their reader was closed, even if the chunk announces more', () => {
    for (const record of [bytes(1, 7), bytes(1)]) {
      const answers = new SharedAllowance(6, 0);
      const a = new Deframer(framing, answers);
      const rest = record.length === 1 ? bytes(7, 6, 1) : bytes(...record, 6, 1);
      if (record.length === 1) expect([...a.push(bytes(2, 5))]).toEqual([]);
      for (const _ of a.push(rest)) a.close();
      expect([...new Deframer(framing, answers).push(bytes(6, 1, 2, 3, 4, 5, 6))]).toEqual([bytes(1, 2, 3, 4, 5, 6)]);
      answers.share().take(6);
    }
  });

  it('are refused where the pieces have a few bytes each', () => {
    const long: Framing = { headerBytes: 1, lengthIn: () => 2 ** 20 };
    const push = (pieceBytes: number): number => {
      const deframer = new Deframer(long);
      let count = [...deframer.push(bytes(0))].length;
      for (let pieces = 0; pieces < 10_000; pieces += 1) count += [...deframer.push(new Uint8Array(pieceBytes))].length;
      return count;
    };
    expect(() => push(1)).toThrow(TinyPieces);
    expect(push(16)).toBe(0);
  });

  it('are found where several end in one chunk, those without bytes too', () => {
    const deframer = new Deframer(framing);
    expect([...deframer.push(bytes(0, 2, 7))]).toEqual([bytes()]);
    expect([...deframer.push(bytes(8, 0, 1, 9, 3))]).toEqual([bytes(7, 8), bytes(), bytes(9)]);
  });
});

it('a buffer accepts the bytes that fit, and grows', () => {
  const buffer = new ByteBuffer(3);
  expect(buffer.fill(bytes(1, 2))).toEqual(bytes());
  expect(buffer.fill(bytes(3, 4))).toEqual(bytes(4));
  expect([buffer.isFull, buffer.bytes]).toEqual([true, bytes(1, 2, 3)]);
  buffer.grow(5);
  expect(buffer.fill(bytes(4))).toEqual(bytes());
  expect([buffer.isFull, buffer.length, buffer.capacity, buffer.bytes]).toEqual([false, 4, 5, bytes(1, 2, 3, 4)]);
  buffer.clear();
  expect(buffer.bytes).toEqual(bytes());
});
