import { expect, it } from 'vitest';
import { replay, textOf, transcripts } from './transcript.ts';

it.each(transcripts())('%s tells what happens', async (name) => {
  const text = textOf(name);
  expect(await replay(text)).toBe(text);
});

it('a transcript with a wrong result fails', async () => {
  const [name = ''] = transcripts();
  const text = textOf(name);
  expect(text).toContain('leads round 1');
  const wrong = text.replace('leads round 1', 'leads round 2');
  expect(await replay(wrong)).toBe(text);
});
