/** The scripts of this repository with an option that is no number. */

import { fileURLToPath } from 'node:url';
import { outcomeOf } from '@incumbent/test-support';
import { numberOption, numberVariable } from '@incumbent/test-support/number-option';
import { afterEach, describe, expect, it, vi } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const NODE = [process.execPath, '--conditions=@incumbent/source', '--disable-warning=ExperimentalWarning'];
/** A watchdog: some seconds on a quiet machine. */
const WITHIN_MS = 90_000;

describe('a script', () => {
  it.each([
    ['simulate', '--seeds', 'abc', 'a whole number from 1'],
    ['simulate', '--workers', 'all', 'a whole number from 1 to 256'],
    ['simulate', '--replay', '', 'a whole number from 0'],
    ['verify', '--runs', 'abc', 'a whole number from 1'],
    ['verify', '--minutes', 'abc', 'a number from 0.01'],
    ['chaos', '--members', 'four', 'a whole number from 2 to 100'],
    ['../bench/index', '--most', '10k', 'a whole number from 1'],
  ])('%s refuses %s %s at once', { timeout: 2 * WITHIN_MS }, async (script, option, text, allowed) => {
    const file = fileURLToPath(new URL(`scripts/${script}.ts`, ROOT));
    const others = script === 'verify' ? ['is-valid'] : [];
    const { status, output } = await outcomeOf([...NODE, file, ...others, option, text], { timeoutMs: WITHIN_MS, cwd: ROOT });
    expect(output).toContain(`${option} is "${text}": it must be ${allowed}`);
    expect(status).toBe(1);
  });
});

describe('an option that is a number', () => {
  it.each([
    ['0', { from: 0 }, 0],
    ['64', { from: 0, to: 64 }, 64],
    ['0.5', { from: 0.01, fractions: true }, 0.5],
  ])('is read from "%s" with %o', (text, allowed, number) => {
    expect(numberOption('busy', text, allowed)).toBe(number);
  });

  it.each([
    ['two', { from: 0, to: 64 }, 'whole number from 0 to 64'],
    ['-1', { from: 0, to: 64 }, 'whole number from 0 to 64'],
    ['65', { from: 0, to: 64 }, 'whole number from 0 to 64'],
    ['1.5', { from: 0 }, 'whole number from 0'],
    ['1e3', { from: 0 }, 'whole number from 0'],
    ['', { from: 0 }, 'whole number from 0'],
    ['9007199254740993', { from: 0 }, 'whole number from 0'],
    ['0', { from: 0.01, fractions: true }, 'number from 0.01'],
  ])('is refused: "%s" with %o', (text, allowed, expected) => {
    expect(() => numberOption('busy', text, allowed)).toThrow(new RangeError(`--busy is "${text}": it must be a ${expected}`));
  });
});

describe('an environment variable that is a number', () => {
  afterEach(() => void vi.unstubAllEnvs());

  it('is read, and has a default', () => {
    vi.stubEnv('BUSY', '7');
    expect(numberVariable('BUSY', 3, { from: 1 })).toBe(7);
    vi.stubEnv('BUSY', undefined);
    expect(numberVariable('BUSY', 3, { from: 1 })).toBe(3);
  });

  it.each(['two', '0', '', '1.5'])('is refused: "%s"', (text) => {
    vi.stubEnv('BUSY', text);
    expect(() => numberVariable('BUSY', 3, { from: 1 })).toThrow(`BUSY is "${text}": it must be a whole number from 1`);
  });
});
