import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { openSqlite } from '@incumbent/sqlite';
import { makeScratch, until } from '@incumbent/test-support';
import { expect, it } from 'vitest';

import { DEADLINE_MS, mainCommand } from './support/command.ts';

it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('doctor leaves no key behind when %s ends it', async (signal) => {
  const scratch = await makeScratch('doctor');
  const url = `sqlite:${join(scratch.path, 'state.db')}`;
  {
    await using store = await openSqlite(url);
    const keys = async (): Promise<readonly unknown[]> => store.list('elections', { timeoutMs: DEADLINE_MS });
    const [program = '', ...args] = mainCommand('doctor');
    // On a busy machine, it may end before this process has seen a key.
    for (let endedBy: unknown; endedBy !== signal;) {
      const doctor = spawn(program, args, { env: { ...process.env, INCUMBENT_STORE: url }, stdio: ['ignore', 'pipe', 'inherit'] });
      let output = '';
      doctor.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
      const closed = once(doctor, 'close');
      const isSeen = async (): Promise<boolean> => doctor.exitCode !== null || (await keys()).length > 0;
      await until(isSeen, { what: 'a key', withinMs: DEADLINE_MS, everyMs: 0 });
      doctor.kill(signal);
      [, endedBy] = await closed;
      expect([output, await keys()]).toEqual([expect.not.stringMatching(/^(?:FAIL|failures)/m), []]);
    }
  }
  await scratch.remove();
});
