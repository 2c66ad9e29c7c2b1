import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { anchorOf, linkOnSite, pagesOf, REPOSITORY, root, sitePathOf } from '../site/pages.ts';
import { HOME, navOf, sidebarOf } from '../site/sidebar.ts';

test.each([
  ['timing.md', 'docs/operations.md', '/timing.md'],
  ['../timing.md#choosing-a-ttl', 'docs/reference/errors.md', '/timing.md#choosing-a-ttl'],
  ['../packages/etcd', 'docs/stores.md', '/packages/etcd/index.md'],
  ['../../packages/etcd/README.md#timing', 'docs/migrating/etcd3.md', '/packages/etcd/index.md#timing'],
  ['README.md', 'docs/decisions/0001-toolchain.md', '/decisions/index.md'],
  [`${REPOSITORY}/blob/main/docs/timing.md#timing`, 'packages/etcd/README.md', '/timing.md#timing'],
  ['alerts.yml', 'docs/operations.md', `${REPOSITORY}/blob/main/docs/alerts.yml`],
  ['../examples/scheduler', 'docs/testing.md', `${REPOSITORY}/tree/main/examples/scheduler`],
  ['../README.md#stores', 'docs/timing.md', `${REPOSITORY}/blob/main/README.md#stores`],
  ['#terms', 'docs/architecture.md', '#terms'],
  ['https://etcd.io', 'docs/stores.md', 'https://etcd.io'],
])('a link to %s of %s leads to %s on the site', (href, page, expected) => {
  expect(linkOnSite(href, page)).toBe(expected);
});

test('the home page shows the program and the command of the README', () => {
  const [home, readme] = [HOME, 'README.md'].map((page) => readFileSync(join(root, page), 'utf8'));
  const blocks = [...(home ?? '').matchAll(/^```\w+\n[^]*?^```$/gm)].map(([block]) => block);
  expect(blocks).toHaveLength(2);
  for (const block of blocks) expect(readme).toContain(block);
});

test('two pages never have one path on the site', () => {
  const paths = pagesOf().map(sitePathOf);
  expect(paths).toContain('migrating/redlock.md');
  expect(new Set(paths).size).toBe(paths.length);
});

test('the sidebar has every page but the home page, once', () => {
  const links = sidebarOf().flatMap(({ items = [] }) => items.map(({ link }) => link));
  const pages = pagesOf().filter((page) => page !== HOME);
  expect(links).toHaveLength(pages.length);
  expect(new Set(links)).toEqual(new Set(pages.map((page) => `/${sitePathOf(page).replace(/(?:index)?\.md$/, '')}`)));
});

test('pages that do not exist are neither in the sidebar nor in the links at the top', () => {
  const pages = ['docs/README.md', 'docs/stores.md', 'docs/chaos.md'];
  expect(sidebarOf(pages).map(({ text }) => text)).toEqual(['Using it', 'How it works']);
  expect(navOf(pages)).toEqual([{ text: 'Stores', link: '/stores' }]);
});

test.each([
  ['isValid()', 'isvalid'],
  ['`UNREACHABLE`', 'unreachable'],
  ['Worker threads and `cluster`', 'worker-threads-and-cluster'],
])('the heading %s has the anchor that GitHub makes', (heading, anchor) => {
  expect(anchorOf(heading)).toBe(anchor);
});
