/** What `run` and `serve` write on standard error of the events of core. */

import { expect, it } from 'vitest';

import { Printer } from '../../src/index.ts';
import { RunLog, type Verbosity } from '../../src/run/log.ts';

function written(verbosity: Verbosity): string {
  let text = '';
  const stream = { write: (more: string): boolean => (text += more) !== '', on: () => {} };
  const { logger } = new RunLog(new Printer(stream, {}), verbosity);
  logger.warn({ remainingMs: 900 }, 'a renewal is overdue');
  logger.info({ remainingMs: 3_000 }, 'renewals are acknowledged again');
  logger.debug({ key: 'k' }, 'joined the queue of an election');
  logger.info({ term: 1n }, 'elected');
  return text;
}

it('says that the store answers again, as it said that it did not', () => {
  expect(written('normal')).toBe(
    'incumbent: a renewal is overdue (remainingMs: 900)\nincumbent: renewals are acknowledged again (remainingMs: 3000)\n',
  );
});

it('leaves good news out with --quiet, and details with --verbose only', () => {
  expect(written('quiet')).toBe('incumbent: a renewal is overdue (remainingMs: 900)\n');
  expect(written('verbose')).toContain('incumbent: joined the queue of an election {"key":"k"}\n');
});
