import { expect, test } from 'vitest';

import { withQuotes } from '../site/reference/quotes.ts';

const EXAMPLE = ['function one() {', '  return 1;', '}', '', "it('is one', () => {", '  expect(one()).toBe(1);', '});', ''].join('\n');

const pageOf = (beginnings: string, code: string): string =>
  `Before.\n\n<!-- pnpm reference: a.ts: ${beginnings} -->\n\`\`\`ts\n${code}\n\`\`\`\n\nAfter.\n\n\`\`\`ts\nfree();\n\`\`\`\n`;

test('a block with a marker has the code that the example has now, and other blocks stay', () => {
  const quoted = withQuotes(pageOf("function one + it('is", 'old();'), () => EXAMPLE);
  expect(quoted).toBe(pageOf("function one + it('is", EXAMPLE.trimEnd()));
});

test.each([
  ['no line', 'function two'],
  ['several lines', ''],
])('a beginning of %s is an error', (_, beginning) => {
  expect(() => withQuotes(pageOf(beginning, 'old();'), () => EXAMPLE)).toThrow('lines that begin with');
});
