import { sharedPostgres, uniqueNamespace } from '@incumbent/test-support';
import { openStore } from 'incumbent';
import { expect, it } from 'vitest';

import { incumbent } from './support/command.ts';

it('a command that takes part in no election does not create the schema of a PostgreSQL store', async () => {
  const schema = uniqueNamespace('cli').replaceAll(/[^a-z0-9]/g, '_');
  const url = `${(await sharedPostgres()).url}?schema=${schema}`;
  for (const args of [['leader', 'db'], ['status'], ['doctor']]) {
    const { code, output } = await incumbent(args, { INCUMBENT_STORE: url });
    expect([code, output]).toEqual([
      3,
      expect.stringMatching(/^incumbent: UNSUPPORTED: .*start a member: this command does not create it/),
    ]);
  }
  await expect(openStore(`${url}&migrate=false`)).rejects.toMatchObject({ code: 'UNSUPPORTED' });
});
