import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { checkProgram } from '../../src/run/find-program.ts';

describe('the check of a program', () => {
  it('finds it although a folder of the PATH cannot be read or is a file', () => {
    const folder = mkdtempSync(join(tmpdir(), 'incumbent-path-'));
    mkdirSync(join(folder, 'closed'), { mode: 0o000 });
    expect(() => checkProgram('sh', `${join(folder, 'closed')}:/etc/passwd:/bin`)).not.toThrow();
    expect(() => checkProgram('sh', join(folder, 'closed'))).toThrow('"sh" was not found');
    rmSync(folder, { recursive: true });
  });
});
