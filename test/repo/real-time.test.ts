import { expect, test } from 'vitest';

import { filesOf, textOf } from './workspace.ts';

/** A timer that a test waits for, not one whose mention alone is the test. */
const WAITS = /\bsetTimeout as \w+|\bsetTimeout\((?!\(\) => \{\})/;
const OTHER_KINDS = /(?:^|[/.])(?:conformance|simulation|integration|chaos|e2e)\.test\.ts$/;
/** Their cases run on a manual clock. */
const VIRTUAL = /^packages\/(?:memory|simulator)\//;

const unit = filesOf('{packages,examples}/*/test/**/*.test.ts').filter((path) => !OTHER_KINDS.test(path));
const contract = filesOf('packages/*/test/conformance.test.ts').filter((path) => !VIRTUAL.test(path));

test('a file of the first part that waits in real time says why in its first comment', () => {
  const waiting = [...unit.filter((path) => WAITS.test(textOf(path))), ...contract];
  expect(waiting).toEqual(expect.arrayContaining(['packages/etcd/test/client/client.test.ts', 'packages/etcd/test/conformance.test.ts']));
  expect(waiting.filter((path) => !/^\/\*\*(?:(?!\*\/)[^])*\bReal time: /.test(textOf(path)))).toEqual([]);
});

test('a file that has the words waits in real time', () => {
  const words = unit.filter((path) => textOf(path).includes('Real time: '));
  expect(words.filter((path) => !WAITS.test(textOf(path)))).toEqual([]);
});
