import { dirname } from 'node:path';

import { describe, expect, test } from 'vitest';

import { filesOf, textOf } from './workspace.ts';

/**
 * The headings that a store's README must have, in this order. Each page may add smaller headings.
 */
const HEADINGS = ['Install', 'Use', 'Guarantees', 'How it maps', 'Timing', 'Failure modes', 'Options'];

/** The packages that open a store. */
const adapters = filesOf('packages/*/src/open.ts')
  .map((path) => dirname(dirname(path)))
  .filter((folder) => filesOf(`${folder}/src/store.ts`).length > 0);

test('the adapters are found', () => {
  expect(adapters).toEqual(
    expect.arrayContaining(['packages/consul', 'packages/etcd', 'packages/postgres', 'packages/redis', 'packages/zookeeper']),
  );
});

describe('the first page', () => {
  const page = textOf('README.md');

  test('has at most 700 words before its first table', () => {
    const [before = ''] = page.split(/^\|/m);
    expect(before.split(/\s+/).length).toBeLessThanOrEqual(700);
  });

  test('has a program of at most ten lines, five guarantees, a picture of them and one of the page', () => {
    const [, program = ''] = /```js\n([^]*?)\n```/.exec(page) ?? [];
    expect(program.split('\n').length).toBeLessThanOrEqual(10);
    expect(page.match(/^\d+\. \*\*/gm)).toHaveLength(5);
    expect(page.match(/!\[/g)).toHaveLength(2);
  });

  test('lists every store', () => {
    for (const folder of adapters) expect(page).toContain(`\`@incumbent/${folder.replace('packages/', '')}\``);
  });
});

test('the pages of the examples need no other program in a clone than the first page says', () => {
  const needed = 'npx -y pnpm@12.21.0 ';
  const commands = filesOf('examples/**/README.md').flatMap((path) => commandsIn(textOf(path)));
  const isForeign = (command: string): boolean => /^(?:node|pnpm|npx tsc) /.test(command);
  expect(commandsIn(textOf('README.md'))).toContainEqual(expect.stringContaining(`${needed}quickstart`));
  expect(commands.filter((command) => command.startsWith(`${needed}exec node `))).not.toEqual([]);
  expect(commands.filter(isForeign)).toEqual([]);
});

/** What the blocks and the sentences of a page say to run, without the variables before it. */
function commandsIn(page: string): readonly string[] {
  const code = [...page.matchAll(/^ *```(\w*)\n([^]*?)^ *```$|`([^`]+)`/gm)];
  const lines = code.flatMap(([, language, block = '', sentence = '']) =>
    language === 'sh' ? block.split(/\n| && /) : [sentence.replaceAll('\n', ' ')],
  );
  return lines.map((line) => line.trim().replace(/^(?:\w+=\S+ )+/, ''));
}

describe.each(adapters)('the page of %s', (folder) => {
  const page = textOf(`${folder}/README.md`);

  test('has the headings of all adapters', () => {
    expect(page.match(/(?<=^## ).*$/gm)).toEqual(HEADINGS);
  });

  test('says something under each of them', () => {
    const bodies = page.split(/^## .*$/m).slice(1);
    expect(bodies.filter((body) => body.trim().length < 40)).toEqual([]);
  });
});
