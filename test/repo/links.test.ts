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

/** The links and images of a page, without those in code. */
function hrefsOf(page: string): readonly string[] {
  const text = textOf(page).replaceAll(/```[\s\S]*?```/g, '');
  const inline = [...text.matchAll(/\]\(([^)\s]+)\)/g)];
  const reference = [...text.matchAll(/^\[[^\]]+\]: (\S+)/gm)];
  const html = [...text.matchAll(/<(?:a|img)\b[^>]*\b(?:href|src)="([^"]+)"/g)];
  return [...inline, ...reference, ...html].map(([, href = '']) => href);
}

/** Where a page links to within this repository, as a path and an anchor. */
function linksOf(page: string): readonly { readonly path: string; readonly anchor: string }[] {
  return hrefsOf(page).flatMap((link) => {
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

test('the page of a package links by addresses, because a relative link breaks on npmjs.com', () => {
  const pages = filesOf('packages/*/README.md');
  const relative = pages.flatMap((page) =>
    hrefsOf(page)
      .filter((href) => !/^(?:https:|#)/.test(href))
      .map((href) => `${page}: ${href}`),
  );
  expect(pages.length).toBeGreaterThan(10);
  expect(relative).toEqual([]);
});

test('the address of the repository is the one in every package.json', () => {
  const manifests = filesOf('packages/*/package.json').map(textOf);
  expect(manifests.filter((text) => !text.includes('"url": "git+https://github.com/incumbent/incumbent.git"'))).toEqual([]);
});
