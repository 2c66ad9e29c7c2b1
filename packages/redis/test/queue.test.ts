import { expect, it } from 'vitest';

import { enqueuedEntry } from '../src/queue.ts';

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

it('enqueue answers with the entry that is there, unless it has another lease', () => {
  const stored = ['q/a', '2', '1', 'l', '500', 'v'].map(bytes);
  expect(enqueuedEntry([bytes('done'), stored], 'q/a', 'l')).toMatchObject({ key: 'q/a', lease: 'l' });
  expect(() => enqueuedEntry([bytes('lease')], 'q/a', 'l')).toThrow(expect.objectContaining({ code: 'LEASE_EXPIRED' }));
  expect(() => enqueuedEntry([bytes('taken')], 'q/a', 'l')).toThrow(expect.objectContaining({ code: 'STORE_FAILED', outcome: 'refused' }));
  expect(() => enqueuedEntry([bytes('done'), []], 'q/a', 'l')).toThrow(/cannot be read/);
});
