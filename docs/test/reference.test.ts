import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { filesOf, textOf } from '../../test/repo/workspace.ts';
import { warnings } from '../site/reference/warning-help.ts';
import { referencePages } from '../site/reference/pages.ts';

test.each(referencePages())('$path is what `pnpm reference` writes', ({ path, text }) => {
  expect(readFileSync(join(import.meta.dirname, '..', path), 'utf8')).toBe(text);
});

test('the reference lists every warning of the sources, and no other', () => {
  const sources = filesOf('packages/*/src/**/*.ts').map(textOf);
  const emitting = sources.filter((text) => text.includes('emitWarning('));
  const codes = emitting.flatMap((text) => [...text.matchAll(/'(INCUMBENT_[A-Z_]+)'/g)].map(([, code]) => code));
  const emitted = new Set(codes.filter((code) => code !== 'INCUMBENT_DEBUG'));
  expect(new Set(Object.keys(warnings))).toEqual(emitted);
});

test('the tables have lines of at most 100 columns', () => {
  const tables = filesOf('docs/site/reference/*-help.ts');
  const long = tables.flatMap((table) =>
    textOf(table)
      .split('\n')
      .flatMap((line, index) => (line.length > 100 ? [`${table}:${index + 1}`] : [])),
  );
  expect(tables.length).toBeGreaterThan(1);
  expect(long).toEqual([]);
});
