import { describe, expect, it } from 'vitest';

import { warningsIn } from '../src/inspection.ts';

describe('the warnings of a server', () => {
  it.each([
    ['alone, with an append-only file', 'role:master\r\nconnected_slaves:0\r\naof_enabled:1\r\n', []],
    ['without an append-only file', 'connected_slaves:0\r\naof_enabled:0\r\n', [expect.stringContaining('append-only')]],
    ['with replicas', 'connected_slaves:2\r\naof_enabled:1\r\n', [expect.stringContaining('it has 2 replicas')]],
  ])('%s', (_, info, warnings) => {
    expect(warningsIn(info)).toEqual(warnings);
  });
});
