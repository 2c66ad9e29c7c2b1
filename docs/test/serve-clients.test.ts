import { expect, test } from 'vitest';

import { textOf } from '../../test/repo/workspace.ts';

const section = /## The rule\n([^]*?)\n## /.exec(textOf('docs/guide/serve.md'))?.[1] ?? '';
const blocks = [...section.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language = '', code = '']) => ({ language, code }));

const PROGRAMS: Readonly<Record<string, string>> = { python: 'py', go: 'go', java: 'java', ruby: 'rb', sh: 'sh' };

/** The lines without their comments and their indentation. */
function linesOf(code: string): readonly string[] {
  const lines = code.split('\n').map((line) => line.replace(/(^|\s)(#|\/\/).*$/, '').trim());
  return lines.filter((line) => line !== '');
}

test('the guide shows the rule in each language of the clients', () => {
  expect(blocks.map(({ language }) => language)).toEqual(Object.keys(PROGRAMS));
});

test.each(blocks)('the lines in $language acknowledge, as a client that does not leads only once', ({ code }) => {
  expect(code).toMatch(/stopping[^]*acknowledge/);
});

test.each(blocks)('the lines in $language are those of the client that the tests run', ({ language, code }) => {
  const program = linesOf(textOf(`test/integration/serve-client.${PROGRAMS[language]}`));
  let from = 0;
  for (const line of linesOf(code)) {
    const position = program.indexOf(line, from);
    expect(position, `${line}, in the program after the line before it`).not.toBe(-1);
    from = position + 1;
  }
});
