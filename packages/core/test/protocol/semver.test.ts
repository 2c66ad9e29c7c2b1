import { describe, expect, it } from 'vitest';
import { compareVersions, precedenceOf } from '../../src/protocol/semver.ts';

/** From the oldest. The pre-releases are the example of Semantic Versioning 2.0.0, paragraph 11. */
const ORDER = [
  '0.9.9',
  '1.0.0-alpha',
  '1.0.0-alpha.1',
  '1.0.0-alpha.beta',
  '1.0.0-beta',
  '1.0.0-beta.2',
  '1.0.0-beta.11',
  '1.0.0-rc.1',
  '1.0.0-rc.1-x',
  '1.0.0',
  '1.0.1',
  '1.2.0',
  '1.10.0',
  '2.0.0',
  '10.0.0',
  '100000000000000000000.0.0',
];

describe('versions', () => {
  it('have the precedence of Semantic Versioning', () => {
    for (const [index, version] of ORDER.entries()) {
      for (const [other, otherVersion] of ORDER.entries())
        expect([version, otherVersion, Math.sign(compareVersions(version, otherVersion))]).toEqual([
          version,
          otherVersion,
          Math.sign(index - other),
        ]);
    }
  });

  it('are older than no text that is no version', () => {
    expect(compareVersions('', '0.0.0')).toBeLessThan(0);
    expect(compareVersions('0.0.0', '1')).toBeGreaterThan(0);
    expect(compareVersions('', 'x')).toBe(0);
  });

  it('lose their build metadata, which does not decide the order', () => {
    expect(precedenceOf('1.0.0-rc.1+build.5')).toBe('1.0.0-rc.1');
    expect(precedenceOf('1.0.0+2026')).toBe('1.0.0');
  });

  it.each([
    '',
    '1',
    '1.0',
    'v1.0.0',
    '01.0.0',
    '1.0.0-',
    '1.0.0-01',
    '1.0.0-a..b',
    '1.0.0+',
    '1.0.0~1',
    `1.0.0-${'a'.repeat(60)}`,
    1,
    undefined,
  ])('are not %s', (version) => {
    expect(precedenceOf(version)).toBeUndefined();
  });
});
