import { expect, test } from 'vitest';

import { filesOf, textOf } from './workspace.ts';

const MAX_LINES = 400;
const MAX_COLUMNS = 100;

test('no file of code is longer than a reader can hold', () => {
  const sources = filesOf('**/*.ts');
  const long = sources.filter((path) => textOf(path).split('\n').length > MAX_LINES);
  expect(sources).not.toEqual([]);
  expect(long).toEqual([]);
});

test('comments and prose that people write are at most 100 columns wide', () => {
  const comments = filesOf('**/*.ts').flatMap((path) => wideLines(path, textOf(path), /^ *(?:\/\*\*|\*|\/\/) /));
  const pages = filesOf('**/*.md').filter((path) => !/^(?:docs\/(?:api|reference|verification)|bench\/RESULTS)/.test(path));
  const prose = pages.flatMap((path) => wideLines(path, proseOf(textOf(path)), /^ *[^\s|!<]/));
  expect([...comments, ...prose]).toEqual([]);
});

function wideLines(path: string, text: string, counted: RegExp): readonly string[] {
  const lines = text.split('\n');
  return lines.filter((line) => line.length > MAX_COLUMNS && counted.test(line)).map((line) => `${path}: ${line}`);
}

/** A Markdown page without its front matter, its code, and the addresses of its links. */
function proseOf(page: string): string {
  const text = page.replace(/^---\n[\s\S]*?\n---\n/, '').replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '');
  return text.replaceAll(/\]\([^)]*\)/g, ']');
}

test('no test is singled out, and none is only promised', () => {
  const tests = filesOf('**/*.test.ts');
  const marked = tests.filter((path) => /\b(?:describe|it|suite|test)\b[\w.]*\.(?:only|todo)\b/.test(textOf(path)));
  expect(tests).not.toEqual([]);
  expect(marked).toEqual([]);
});

test('no file names a folder of one particular machine', () => {
  const folders = ['work', 'tmp/brief', 'home/\\w+', 'Users/\\w+'].join('|');
  const local = new RegExp(`(?<![\\w.~-])/(?:${folders})/`);
  // In a work tree of its own, `.git` is a file that names the repository's folder.
  const all = [...filesOf('**/*'), ...filesOf('.*'), ...filesOf('.ci/**')].filter((path) => path !== '.git');
  const files = all.filter((path) => !textOf(path).includes('\0'));
  expect(files).toContain('package.json');
  expect(files.filter((path) => local.test(textOf(path)))).toEqual([]);
});

test('what another process loads by its path is published', () => {
  const calls = filesOf('packages/*/src/**/*.ts').flatMap((path) => [
    ...textOf(path).matchAll(/\bmoduleBeside\((?:import\.meta\.)?url, ([^)]+)\)/g),
  ]);
  const loaded = new Set(calls.map(([, name]) => name));
  const published = /LOADED_BY_PATH = \[([^\]]+)\]/.exec(textOf('scripts/bundle.ts'))?.[1]?.split(', ');
  expect(loaded).toEqual(new Set(published));
});
