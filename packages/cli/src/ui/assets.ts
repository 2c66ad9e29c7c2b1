/** The files of the page, which the browser gets as they are: the package has them in `page/`. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import type { Route } from '../serve/http/route.ts';

const TYPES = { html: 'text/html', css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' } as const;

/** Every file by its path. */
const FILES = {
  '/': 'index.html',
  '/page.css': 'page.css',
  '/list.css': 'list.css',
  '/opened.css': 'opened.css',
  '/views.css': 'views.css',
  '/widths.css': 'widths.css',
  '/icon.svg': 'icon.svg',
  '/page.js': 'page.js',
  '/connection.js': 'connection.js',
  '/dom.js': 'dom.js',
  '/election.js': 'election.js',
  '/list.js': 'list.js',
  '/operate.js': 'operate.js',
  '/timeline.js': 'timeline.js',
  '/views.js': 'views.js',
} as const;

/** The paths of the page. They contain no data of the store. */
export const PAGE_PATHS: ReadonlySet<string> = new Set(Object.keys(FILES));

/**
 * Headers of every answer. The page loads nothing from elsewhere, has no script or style inside its
 * HTML, sends no form, and is not shown within another page.
 */
export const SECURITY_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

/** Reads the files once. */
export function pageRoutes(): readonly Route[] {
  const folder = join(createRequire(import.meta.url).resolve('@incumbent/cli/package.json'), '../page');
  return Object.entries(FILES).map(([path, file]) => {
    const text = readFileSync(join(folder, file), 'utf8');
    const type = Object.entries(TYPES).find(([extension]) => file.endsWith(`.${extension}`))?.[1] ?? 'text/plain';
    return { method: 'GET', path, handle: () => ({ status: 200, text, contentType: `${type}; charset=utf-8` }) };
  });
}
