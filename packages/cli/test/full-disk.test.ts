import { expect, it } from 'vitest';

import { Exit, Printer, runCli } from '../src/index.ts';
import { TestConsole } from './support/test-console.ts';

it.each([
  [['limits'], Exit.NO],
  [['--help'], Exit.NO],
  [['status', '--help'], Exit.NO],
  [['help', 'status'], Exit.NO],
  [['--version'], Exit.NO],
  [['run', '--help'], Exit.RUN_FAILED],
])('%j fails if its output cannot be written, as on a full disk', async (args, expected) => {
  await using console = new TestConsole();
  let [fail, said] = [(_: Error): void => {}, ''];
  const out = new Printer({ write: () => (fail(new Error('ENOSPC: no space left on device')), false), on: (_, then) => (fail = then) }, {});
  const err = new Printer({ write: (text) => ((said += text), true), on: () => {} }, {});
  const code = await runCli(args, { ...console.context(), out, err });
  expect([code, said]).toEqual([expected, 'incumbent: the output cannot be written: ENOSPC: no space left on device\n']);
});
