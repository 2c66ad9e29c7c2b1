/** Frames read from arbitrary bytes: valid frames that were tampered with, and garbage. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Refused } from '../../src/tcp/refusal.ts';
import { SharedKeys, type Seal } from '../../src/tcp/seal.ts';
import { Wire } from '../../src/tcp/wire.ts';
import { announced, framed, line, PREFACE, settled } from './stranger.ts';

const MAX_BYTES = 100;

/**
 * All frames read from these bytes, which arrive in pieces of these lengths, and the reason why the
 * connection ended, if it did.
 */
async function heard(
  bytes: Buffer,
  pieces: readonly number[],
  open: (frame: Buffer) => Buffer,
): Promise<{ frames: string[]; why: unknown }> {
  const { socket } = line();
  const wire = new Wire(socket, MAX_BYTES);
  const frames: string[] = [];
  let why: unknown;
  void wire.over.then((reason) => (why = reason));
  wire.stream(MAX_BYTES, (frame) => frames.push(open(frame).toString('hex')));
  let at = 0;
  for (const piece of [...pieces, bytes.length]) {
    if (at >= bytes.length || socket.destroyed) break;
    socket.push(bytes.subarray(at, at + piece));
    at += piece;
  }
  await settled();
  socket.destroy();
  return { frames, why };
}

const pieces = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 40 });
const contents = fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 8 });

describe('a wire', () => {
  it('returns the frames unchanged, in whatever pieces they arrive', async () => {
    await fc.assert(
      fc.asyncProperty(contents, pieces, async (list, cuts) => {
        const { frames, why } = await heard(Buffer.concat([PREFACE, ...list.map(framed)]), cuts, (frame) => frame);
        expect(frames).toEqual(list.map((content) => Buffer.from(content).toString('hex')));
        expect(why).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });

  it('returns sealed frames in order up to the first one that was tampered with, and no others', async () => {
    const mutation = fc.tuple(fc.nat(), fc.nat(255), fc.constantFrom('set', 'insert', 'delete', 'repeat', 'swap'));
    const seal = (): Seal => new SharedKeys(Buffer.from('secret'), [Buffer.from('said')]).seal('dialer');
    await fc.assert(
      fc.asyncProperty(contents, pieces, mutation, async (list, cuts, [at, byte, how]) => {
        const sealing = seal();
        const sealed = list.map((content) => framed(Buffer.concat([sealing.sign(content), content])));
        const i = sealed.length === 0 ? 0 : at % sealed.length;
        if (how === 'repeat' && sealed.length > 0) sealed.splice(i, 0, sealed[i]!);
        if (how === 'swap') sealed.push(...sealed.splice(i, 1));
        const bytes = Buffer.concat([PREFACE, ...sealed]);
        if (how === 'set') bytes[at % bytes.length] = byte;
        const spliced = [...bytes];
        if (how === 'insert' || how === 'delete')
          spliced.splice(at % bytes.length, how === 'delete' ? 1 : 0, ...(how === 'insert' ? [byte] : []));
        const opening = seal();
        const { frames, why } = await heard(Buffer.from(spliced), cuts, (frame) => opening.open(frame));
        const sent = list.map((content) => Buffer.from(content).toString('hex'));
        expect(sent.slice(0, frames.length)).toEqual(frames);
        if (why !== undefined) expect(why).toBeInstanceOf(Refused);
      }),
      { numRuns: 1_000 },
    );
  });

  it('returns no frame from garbage', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 8, maxLength: 300 }), pieces, async (bytes, cuts) => {
        const { frames, why } = await heard(Buffer.from(bytes), cuts, (frame) => frame);
        expect(frames).toEqual([]);
        expect(why).toMatchObject({ reason: 'notThisProtocol' });
      }),
      { numRuns: 300 },
    );
  });

  it('checks a length before it waits for the content', async () => {
    for (const length of [MAX_BYTES + 1, 2 ** 31, 2 ** 32 - 1]) {
      const { why } = await heard(Buffer.concat([PREFACE, announced(length)]), [], (frame) => frame);
      expect(why).toMatchObject({ reason: 'tooLarge', facts: { announcedBytes: length } });
    }
    expect(await heard(Buffer.concat([PREFACE, announced(MAX_BYTES), Buffer.alloc(MAX_BYTES)]), [], (frame) => frame)).toMatchObject({
      frames: ['00'.repeat(MAX_BYTES)],
      why: undefined,
    });
  });

  it('leaves bytes in the system while no reader is waiting', async () => {
    const { socket } = line();
    const wire = new Wire(socket, MAX_BYTES);
    socket.push(Buffer.concat([PREFACE, framed('one'), framed('two')]));
    expect(String(await wire.read())).toBe('one');
    expect(socket.isPaused()).toBe(true);
    expect(String(await wire.read())).toBe('two');
    socket.destroy();
    await expect(wire.read()).rejects.toThrow('the other side ended');
  });

  it('sends its preface once, and nothing after its end', async () => {
    const { socket, said } = line();
    const wire = new Wire(socket, MAX_BYTES);
    wire.write(Buffer.from('one'));
    wire.write(Buffer.from('t'), Buffer.from('wo'));
    wire.end(Buffer.from('last'), new Error('why'));
    wire.write(Buffer.from('more'));
    expect(Buffer.concat(said)).toEqual(Buffer.concat([PREFACE, framed('one'), framed('two'), framed('last')]));
    await expect(wire.over).resolves.toMatchObject({ message: 'why' });
  });
});
