/**
 * The pages of the site. The site reads Markdown files where they are in the repository, so the
 * files have the links that work on a code host. This module maps their paths to paths of the site.
 */

import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';

/** The folder of the repository. */
export const root: string = join(import.meta.dirname, '../..');

/** Where the files are that have no page on the site. */
export const REPOSITORY = 'https://github.com/incumbent/incumbent';

/** The files that have a page, as patterns relative to the repository. */
const PAGES = ['docs/**/*.md', 'packages/*/README.md', 'examples/*/README.md', 'examples/README.md'];

/** The files that have a page: paths relative to the repository, with slashes, sorted. */
export function pagesOf(folder: string = root): readonly string[] {
  const isInstalled = (path: string): boolean => path.split('/').includes('node_modules');
  const found = PAGES.flatMap((pattern) => globSync(pattern, { cwd: folder, exclude: ['**/node_modules'] }));
  return found
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !isInstalled(path))
    .toSorted();
}

/** The path on the site of a page: `docs/guide/README.md` is `guide/index.md`. */
export function sitePathOf(page: string): string {
  return page.replace(/^docs\//, '').replace(/(^|\/)README\.md$/, '$1index.md');
}

/**
 * Where a link of a page leads on the site: to another page, or to a file or folder on the code
 * host. Links to other sites and within the page stay as they are.
 */
export function linkOnSite(href: string, page: string): string {
  const own = new RegExp(`^${REPOSITORY}/(?:blob|tree)/main/`).exec(href)?.[0];
  const isOutside = own === undefined && /^(?:[a-z][a-z+.-]*:|\/|#)/i.test(href);
  if (isOutside) return href;
  const [path = '', anchor] = (own === undefined ? href : href.slice(own.length)).split('#');
  const target = posix.normalize(own === undefined ? posix.join(posix.dirname(page), decodeURI(path)) : path).replace(/\/$/, '');
  const suffix = anchor === undefined ? '' : `#${anchor}`;
  for (const candidate of [target, `${target}/README.md`]) {
    if (isPage(candidate)) return `/${sitePathOf(candidate)}${suffix}`;
  }
  return `${REPOSITORY}/${isFolder(target) ? 'tree' : 'blob'}/main/${target}${suffix}`;
}

function isPage(path: string): boolean {
  return PAGES.some((pattern) => posix.matchesGlob(path, pattern)) && existsSync(join(root, path));
}

function isFolder(path: string): boolean {
  const file = join(root, path);
  return existsSync(file) && statSync(file).isDirectory();
}

/** The path of a file, relative to the repository, with slashes. */
export function pathInRepository(file: string): string {
  return relative(root, file).replaceAll('\\', '/');
}

/** The title of a page: its first heading, as plain text. */
export function titleOf(page: string): string {
  const text = readFileSync(join(root, page), 'utf8');
  const heading = /^# (.+)$/m.exec(text)?.[1] ?? /^title: (.+)$/m.exec(text)?.[1] ?? posix.basename(dirname(page));
  return heading.replaceAll(/[`*]/g, '').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
}

/**
 * The anchor of a heading, as GitHub makes it, so that links to headings work on both.
 */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');
}
