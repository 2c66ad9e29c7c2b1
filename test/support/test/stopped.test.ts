import { describe, expect, test } from 'vitest';

import { isStopped } from '../src/stopped.ts';
import { supervise } from '../src/supervise.ts';
import { until } from '../src/until.ts';

describe.runIf(process.platform === 'linux')('a process', () => {
  test('stands still after SIGSTOP, goes on after SIGCONT, and stands still for good when it has ended', async () => {
    // A name with a bracket, and more than one thread.
    const program = 'process.title = "a) R b"; setInterval(() => {}, 1_000)';
    const child = await supervise(process.execPath, ['-e', program], { stdout: 'pipe', stderr: 'pipe' });
    expect(await isStopped(child.pid)).toBe(false);
    child.signal('SIGSTOP');
    await until(() => isStopped(child.pid), { what: 'it to stand still' });
    child.signal('SIGCONT');
    await until(async () => !(await isStopped(child.pid)), { what: 'it to go on' });
    child.signal('SIGKILL');
    await child.exited;
    expect(await isStopped(child.pid)).toBe(true);
  });
});
