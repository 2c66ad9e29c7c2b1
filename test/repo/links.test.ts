import { existsSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

import { expect, test } from 'vitest';

import { filesOf, root, textOf } from './workspace.ts';

/** Pages of packages are read on other sites too, and link to this repository by its address. */
const REPOSITORY = 'https://github.com/incumbent/incumbent/blob/main/';

/** The anchor that GitHub makes for a heading. */
function anchorOf(heading: string): string {
  const text = heading.replaceAll(/[`*]/g, '').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  return text
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');
}

/** Where a page links to within this repository, as a path and an anchor. */
function linksOf(page: string): readonly { readonly path: string; readonly anchor: string }[] {
  const text = textOf(page).replaceAll(/```[\s\S]*?```/g, '');
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = '']) => {
    const isOurs = link.startsWith(REPOSITORY);
    if (!isOurs && /^[a-z]+:/.test(link)) return [];
    const [path = '', anchor = ''] = (isOurs ? link.slice(REPOSITORY.length) : link).split('#');
    const target = isOurs ? path : path === '' ? page : normalize(join(dirname(page), path));
    return [{ path: target, anchor }];
  });
}

function anchorsOf(page: string): readonly string[] {
  return [...textOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));
}

test('every link of a page leads to a file, and to a heading of it', () => {
  const all = [...filesOf('*.md'), ...filesOf('{bench,docker,docs,examples,packages}/**/*.md')];
  // What `pnpm run docs` writes is not committed, and VitePress checks its links.
  const pages = all.filter((page) => !page.startsWith('docs/api/'));
  const dead = pages.flatMap((page) =>
    linksOf(page).flatMap(({ path, anchor }) => {
      const file = join(root, path);
      if (!existsSync(file)) return [`${page}: ${path}`];
      if (anchor === '' || statSync(file).isDirectory() || !path.endsWith('.md')) return [];
      return anchorsOf(path).includes(anchor) ? [] : [`${page}: ${path}#${anchor}`];
    }),
  );
  expect(pages.length).toBeGreaterThan(50);
  expect(dead).toEqual([]);
});
