import assert from 'node:assert/strict';

import type { FuzzTarget } from './target.ts';

interface FramesOptions extends Pick<FuzzTarget, 'inputs' | 'isRefusal'> {
  /** Encodes one frame. */
  readonly frame: (content: Uint8Array) => Uint8Array;
  /** Opens a reader of a new stream. Its `push` yields the content of the complete frames. */
  readonly open: () => { push(piece: Uint8Array): Iterable<Uint8Array> };
}

/**
 * The target `frames` of a protocol. A stream of frames must give the same frames in one piece and
 * in pieces of any length, and encoding them again must give the stream's bytes.
 */
export function framesTarget({ inputs, frame, open, isRefusal }: FramesOptions): FuzzTarget {
  const readIn = (stream: Uint8Array, pieceBytes: number): { readonly contents: readonly Uint8Array[]; readonly isRefused: boolean } => {
    const reader = open();
    const contents: Uint8Array[] = [];
    try {
      for (let at = 0; at < stream.length; at += pieceBytes)
        for (const content of reader.push(stream.subarray(at, at + pieceBytes))) contents.push(new Uint8Array(content));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return { contents, isRefused: true };
    }
    return { contents, isRefused: false };
  };
  return {
    name: 'frames',
    inputs,
    isRefusal,
    read: (input) => {
      const whole = readIn(input, input.length + 1);
      for (const pieceBytes of [1, 3, 7]) assert.deepEqual(readIn(input, pieceBytes), whole);
      const encoded = Buffer.concat(whole.contents.map(frame));
      assert.deepEqual(encoded, Buffer.from(input.subarray(0, encoded.length)));
    },
  };
}
