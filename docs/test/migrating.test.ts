import { basename, extname } from 'node:path';

import { expect, test } from 'vitest';

import { filesOf, textOf } from '../../test/repo/workspace.ts';

const programs = [...filesOf('examples/migrating/*.ts'), ...filesOf('examples/migrating/{before,rolling}/*.{ts,go}')];

test.each(programs)('its page quotes %s to the letter', (program) => {
  const suffix = extname(program);
  const page = textOf(`docs/migrating/${basename(program, suffix)}.md`);
  expect(page).toContain(`<!-- ${program} -->\n\`\`\`${suffix.slice(1)}\n${textOf(program)}\`\`\`\n`);
});

/** The pages whose old lock a Node program can hold have this heading, too. */
const ROLLING = 'In a rolling deployment';
const HEADINGS = ['Both programs', 'What maps to what', 'What changes in the guarantees', 'Pitfalls'];

test.each(filesOf('docs/migrating/*.md').filter((page) => !page.endsWith('README.md')))(
  '%s has the headings of all these pages',
  (page) => {
    const headings = textOf(page).match(/(?<=^## ).*$/gm);
    const common = headings?.filter((heading) => heading !== ROLLING);
    expect(common?.map((heading) => (heading === 'Both commands' ? 'Both programs' : heading))).toEqual(HEADINGS);
    expect(textOf('docs/migrating/README.md')).toContain(`(${basename(page)})`);
  },
);
