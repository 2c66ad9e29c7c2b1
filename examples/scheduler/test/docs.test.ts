import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');

it('the code of the page on testing is that of this example, to the letter', () => {
  const files = ['../scheduler.ts', 'scheduler.test.ts', 'scheduler.simulation.test.ts'].map(read).join('\n');
  const blocks = [...read('../../../docs/testing.md').matchAll(/```ts\n([^]*?)```/g)].map(([, code = '']) => code);
  expect(blocks.length).toBe(4);
  for (const block of blocks) expect(files).toContain(block);
});
