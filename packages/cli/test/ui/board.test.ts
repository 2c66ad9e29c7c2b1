import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';

import { Board } from '../../src/ui/board.ts';
import type { DocumentKey } from '../../src/ui/documents.ts';
import { sendBoard, type ViewerOptions } from '../../src/ui/viewer.ts';

const group = (members: number): { readonly members: number } => ({ members });

/** A stream that a test reads, and that is full when the test says so. */
class FakeStream {
  readonly closing = new AbortController();
  readonly closed: AbortSignal = this.closing.signal;
  isFull = false;
  readonly sent: (readonly [event: string, data: Record<string, unknown>])[] = [];
  #drained = (): void => {};

  send({ event, ...data }: { readonly event: string }): void {
    this.sent.push([event, data]);
  }

  sendJson(event: string, json: string): void {
    this.sent.push([event, Object(JSON.parse(json))]);
  }

  onDrain(listener: () => void): void {
    this.#drained = listener;
  }

  drain(): void {
    this.isFull = false;
    this.#drained();
  }

  /** The documents that were sent, the latest of each key. */
  get documents(): Readonly<Record<string, unknown>> {
    const all = this.sent.flatMap(([event, { documents }]) => (event === 'documents' && Array.isArray(documents) ? documents : []));
    return Object.fromEntries(all);
  }
}

function view(board: Board, options: Partial<ViewerOptions> = {}): { readonly stream: FakeStream; readonly clock: ManualClock } {
  const [stream, clock] = [new FakeStream(), new ManualClock()];
  sendBoard(board, stream, { clock, ...options });
  return { stream, clock };
}

describe('the board', () => {
  it('does not count a document that is set to the same again as a change', () => {
    const board = new Board('a');
    board.set('group/x', group(1));
    board.set('group/x', group(1));
    expect(board.version).toBe(1);
  });

  it('tells which documents have changed after a version, also those that are deleted', () => {
    const board = new Board('a');
    board.set('group/x', group(1));
    board.set('group/y', group(1));
    const { version } = board;
    board.delete('group/x');
    expect(board.changedAfter(version)).toEqual(['group/x']);
    expect(board.changedAfter(0)).toEqual(['group/y']);
  });

  it('does not let a viewer resume that may have missed a forgotten deletion', () => {
    const board = new Board('a');
    for (let index = 0; index <= 1_001; index += 1) board.set(`group/${index}`, group(1));
    const { version } = board;
    for (let index = 0; index <= 1_001; index += 1) board.delete(`group/${index}`);
    expect(board.canResume('a', version)).toBe(false);
    expect(board.canResume('a', board.version)).toBe(true);
    expect(board.canResume('b', board.version)).toBe(false);
  });
});

describe('a viewer', () => {
  it('gets all documents, and then each that changes', async () => {
    const board = new Board('a');
    board.set('group/x', group(1));
    const { stream, clock } = view(board);
    expect(stream.sent.map(([event]) => event)).toEqual(['hello', 'documents', 'ready']);
    board.set('group/x', group(2));
    board.set('group/y', group(1));
    await clock.advance(20);
    expect(stream.documents).toEqual({ 'group/x': group(2), 'group/y': group(1) });
    expect(stream.sent.map(([event]) => event)).toEqual(['hello', 'documents', 'ready', 'documents']);
  });

  it('gets the queue that it has opened, and no other', async () => {
    const board = new Board('a');
    const queue = { candidates: [], total: 0, stopping: false, spans: [], ends: [] };
    const opened: DocumentKey = 'queue/x';
    const { stream, clock } = view(board, { opened });
    board.set('queue/x', queue);
    board.set('queue/y', queue);
    await clock.advance(20);
    expect(Object.keys(stream.documents)).toEqual(['queue/x']);
  });

  it('that reads slowly skips states and gets the latest one', async () => {
    const board = new Board('a');
    const { stream, clock } = view(board);
    stream.isFull = true;
    for (let members = 1; members <= 5; members += 1) {
      board.set('group/x', group(members));
      await clock.advance(20);
    }
    expect(stream.documents).toEqual({});
    stream.drain();
    expect(stream.sent.filter(([event]) => event === 'documents')).toHaveLength(1);
    expect(stream.documents).toEqual({ 'group/x': group(5) });
  });

  it('gets many long documents in several events, and is told that it has all when it has read them', () => {
    const board = new Board('a');
    const sizes: number[] = [];
    const name = 'x'.repeat(1_000);
    for (let index = 0; index < 300; index += 1) board.set(`group/${name}${index}`, group(1));
    const stream = new FakeStream();
    const { sendJson } = stream;
    stream.sendJson = (event, json) => {
      sizes.push(json.length);
      sendJson.call(stream, event, json);
      stream.isFull = event === 'documents';
    };
    sendBoard(board, stream, { clock: new ManualClock() });
    const events = (): readonly string[] => stream.sent.map(([event]) => event);
    expect(events()).toEqual(['hello', 'documents']);
    stream.drain();
    expect(events()).toEqual(['hello', 'documents', 'documents']);
    stream.drain();
    expect(events()).toEqual(['hello', 'documents', 'documents', 'ready']);
    expect(Object.keys(stream.documents)).toHaveLength(300);
    expect(Math.max(...sizes)).toBeLessThan(300_000);
  });

  it('that comes back gets only what has changed since', () => {
    const board = new Board('a');
    board.set('group/x', group(1));
    board.set('group/y', group(1));
    const { version } = board;
    board.set('group/y', group(2));
    board.delete('group/x');
    const { stream } = view(board, { since: { epoch: 'a', version } });
    expect(stream.sent[0]?.[1]).toMatchObject({ resumes: true });
    expect(stream.documents).toEqual({ 'group/y': group(2), 'group/x': null });
  });

  it('of an earlier process gets all documents anew', () => {
    const board = new Board('a');
    board.set('group/x', group(1));
    const { stream } = view(board, { since: { epoch: 'b', version: 1 } });
    expect(stream.sent[0]?.[1]).toMatchObject({ resumes: false });
    expect(stream.documents).toEqual({ 'group/x': group(1) });
  });

  it('is told no version to resume from before it has everything up to it', () => {
    const board = new Board('a');
    for (let index = 0; index < 1_000; index += 1) board.set(`group/${index}`, group(1));
    const { stream } = view(board);
    const versions = stream.sent.filter(([event]) => event === 'documents').map(([, { version }]) => version);
    expect(versions).toEqual([null, null, 1_000]);
  });

  it('that is gone costs nothing', async () => {
    const board = new Board('a');
    const { stream, clock } = view(board);
    board.set('group/x', group(1));
    stream.closing.abort();
    expect(clock.timers).toBe(0);
    board.set('group/x', group(2));
    expect(clock.timers).toBe(0);
  });
});
