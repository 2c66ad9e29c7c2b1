/** Parts of `run`. */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { checkProgram } from '../src/run/find-program.ts';
import { startHealthServer } from '../src/run/health.ts';
import { ProcessGroup } from '../src/run/process-group.ts';
import { Stopper } from '../src/run/stopper.ts';

describe('the health server', () => {
  afterEach(() => void vi.restoreAllMocks());

  it('lives on after errors of its socket', async () => {
    const listen = vi.spyOn(Server.prototype, 'listen');
    const health = await startHealthServer({ host: '127.0.0.1', port: 0 }, {});
    const [server] = listen.mock.contexts;
    if (!(server instanceof Server)) throw new TypeError('nothing listens');
    for (let i = 0; i < 3; i += 1) server.emit('error', new Error('accept EMFILE'));
    expect((await fetch(`http://127.0.0.1:${health.port}/`)).status).toBe(404);
    await health.close();
  });
});

describe('a grace of weeks', () => {
  afterEach(() => void vi.useRealTimers());

  it('is no grace of a millisecond', () => {
    vi.useFakeTimers();
    const waits = vi.spyOn(globalThis, 'setTimeout');
    const group = new ProcessGroup(['true'], {});
    const stopper = new Stopper(group);
    stopper.terminate(1_000 * 3_600_000);
    // More than 31 bits are taken for 1 ms.
    expect(waits.mock.calls.map(([, ms]) => ms)).toEqual([2 ** 31 - 1]);
    stopper.cancel();
  });
});

describe('a program', () => {
  it('is found though a folder of the PATH may not be looked into, or is none', () => {
    const folder = mkdtempSync(join(tmpdir(), 'incumbent-path-'));
    mkdirSync(join(folder, 'closed'), { mode: 0o000 });
    expect(() => checkProgram('sh', `${join(folder, 'closed')}:/etc/passwd:/bin`)).not.toThrow();
    expect(() => checkProgram('sh', join(folder, 'closed'))).toThrow('"sh" is not there');
    rmSync(folder, { recursive: true });
  });
});
