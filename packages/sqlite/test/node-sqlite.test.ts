import { describe, expect, it } from 'vitest';

import { makeScratch } from '@incumbent/test-support';

import type { Connection, Statement } from '../src/schema/connection.ts';
import { isSafe } from '../src/client/node-sqlite.ts';
import { readHost } from '../src/host/host.ts';
import { openOn } from '../src/open.ts';
import { readOptions } from '../src/options.ts';
import { FaultyDisk } from './faulty-disk.ts';

describe('versions of SQLite with the WAL-reset bug', () => {
  it.each(['3.7.0', '3.44.5', '3.45.1', '3.47.2', '3.49.2', '3.50.6', '3.51.0', '3.51.2'])('%s has it', (version) => {
    expect(isSafe(version)).toBe(false);
  });

  it.each(['3.44.6', '3.50.7', '3.51.3', '3.52.0', '3.53.4', '4.0.0'])('%s has not', (version) => {
    expect(isSafe(version)).toBe(true);
  });

  it('are refused at opening, with what to do', async () => {
    const scratch = await makeScratch('engine');
    const disk = new FaultyDisk();
    const old = (path: string): Connection => {
      const connection = disk.connect(path);
      const prepare = (sql: string): Statement => connection.prepare(sql.replace('sqlite_version()', "'3.47.2'"));
      return { exec: (sql) => connection.exec(sql), close: () => connection.close(), prepare };
    };
    const opening = openOn(old, readHost(), readOptions(`sqlite:${scratch.path}/state.db`));
    await expect(opening).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      outcome: 'refused',
      message: expect.stringContaining('Use Node 22.23'),
    });
    expect(disk.open).toBe(0);
    await scratch.remove();
  });
});
