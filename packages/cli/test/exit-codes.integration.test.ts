import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeScratch, type Scratch } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { incumbent } from './support/command.ts';

let scratch: Scratch;
let store: string;
beforeAll(async () => {
  scratch = await makeScratch('cli');
  store = `sqlite:${join(scratch.path, 'state.db')}`;
  writeFileSync(join(scratch.path, 'no-program'), '');
  writeFileSync(join(scratch.path, 'no-interpreter'), '#!/no/such/interpreter\n', { mode: 0o755 });
});
afterAll(async () => scratch.remove());

const run = ['run', '--election', 'codes'] as const;

describe('the exit code', () => {
  it.each([
    ['of a program that succeeds', 0, [...run, '--', 'true'], ''],
    ['of a program that fails', 1, [...run, '--', 'false'], ''],
    ['of a program with another code', 42, [...run, '--', 'sh', '-c', 'exit 42'], ''],
    ['of a program that a signal ends', 128 + 9, [...run, '--', 'sh', '-c', 'kill -KILL $$'], 'SIGKILL'],
    ['of a program that aborts', 128 + 6, [...run, '--', 'sh', '-c', 'ulimit -c 0; kill -ABRT $$'], 'SIGABRT'],
    ['of --once with a program that ends before the leadership', 3, [...run, '--once', '--', 'sh', '-c', 'exit 3'], ''],
    ['of an unknown program', 127, [...run, '--', 'no-such-program'], 'no such program'],
    ['of a path without a file', 127, [...run, '--', './no/such/program'], 'no such program'],
    ['of a file that is not executable', 126, [...run, '--', '@/no-program'], 'permission denied'],
    ['of a script without its interpreter', 127, [...run, '--', '@/no-interpreter'], 'cannot be started'],
    ['of run without a program', 125, [...run], "missing required argument 'program'"],
    ['of run without an election', 125, ['run', '--', 'true'], "required option '--election <name>'"],
    ['of run with an invalid name', 125, ['run', '--election', 'a/b', '--', 'true'], 'election is "a/b"'],
    ['of run with a ttl without a unit', 125, [...run, '--ttl', '5', '--', 'true'], '--ttl is "5": it must be a number with a unit'],
    ['of run with a grace that does not fit', 125, [...run, '--ttl', '5s', '--grace', '4s', '--', 'true'], 'at most 1.5'],
    ['of run with --once and --restart', 125, [...run, '--once', '--restart', '--', 'true'], 'cannot both be given'],
    ['of run with an unknown option', 125, [...run, '--onse', '--', 'true'], 'Did you mean --once?'],
    [
      'of run with an invalid health port',
      125,
      [...run, '--health-port', '70000', '--', 'true'],
      '--health-port is a string of 5 characters',
    ],
    ['of leader, when nobody leads', 1, ['leader', 'nobody'], 'nobody leads "nobody"'],
    ['of candidates, when there are none', 1, ['candidates', 'nobody'], 'nobody is a candidate'],
    ['of resign, when nobody leads', 1, ['resign', 'nobody'], 'nobody leads "nobody"'],
    ['of handover, when nobody leads', 1, ['handover', 'nobody', '--to', 'b'], 'nobody leads "nobody"'],
    ['of status', 0, ['status'], 'ELECTION'],
    ['of doctor', 0, ['doctor'], 'no failures, no warnings'],
    ['of help', 0, ['--help'], 'Usage: incumbent'],
    ['of the help of a command', 0, ['run', '--help'], 'Exit codes:'],
    ['of the version', 0, ['--version'], '0.1.0'],
    ['of no arguments', 2, [], 'Usage: incumbent'],
    ['of a valid and an invalid name', 2, ['status', 'good', 'bad/name'], 'election is "bad/name"'],
    ['of an unknown command', 2, ['statu'], 'Did you mean status?'],
    ['of a command without its argument', 2, ['leader'], "missing required argument 'election'"],
    ['of an invalid term', 2, ['resign', 'a', '--term', 'x'], '--term is a string of 1 characters'],
    ['of an unknown URL scheme', 2, ['status', '--store', 'etdc://host'], 'etdc'],
    ['of two stores', 2, ['status', '--store', 'sqlite:a.db', '--store-file', 'b'], 'cannot both be given'],
    ['of a missing store file', 2, ['status', '--store-file', '/no/such/file'], 'the store file /no/such/file cannot be read: ENOENT'],
    ['of a missing store', 3, ['status', '--store', 'sqlite:/no/such/folder/state.db'], 'UNREACHABLE'],
    ['of an unreachable server', 3, ['leader', 'a', '--store', 'etcd://127.0.0.1:9/x?connectTimeoutMs=500'], '127.0.0.1:9'],
    [
      'of run on a missing store',
      125,
      [...run, '--store-wait', '0', '--store', 'sqlite:/no/such/folder/state.db', '--', 'true'],
      'UNREACHABLE',
    ],
    ['of run on a store in memory', 125, [...run, '--store', 'memory:', '--', 'true'], 'belongs to this process alone'],
  ])('%s is %i', async (_, code, args, text) => {
    const result = await incumbent(
      args.map((arg) => arg.replace(/^@/, scratch.path)),
      { INCUMBENT_STORE: store },
    );
    expect(result.output).toContain(text);
    expect(result.code).toBe(code);
  });

  it('of a command without a store is 2, with a message that explains how to give one', async () => {
    const result = await incumbent(['status'], { INCUMBENT_STORE: '', INCUMBENT_STORE_FILE: '' });
    expect([result.code, result.output]).toEqual([2, expect.stringContaining('INCUMBENT_STORE')]);
  });
});

describe('credentials', () => {
  it('on the command line cause a warning, and are in no message', async () => {
    const result = await incumbent(['status', '--store', 'etcd://root:hunter2@127.0.0.1:9/x?connectTimeoutMs=300']);
    expect(result.output).toContain('other users of this machine can read the secret');
    expect(result.output).not.toContain('hunter2');
    expect(result.code).toBe(3);
  });

  it('in the environment or in a file are in no message', async () => {
    const url = 'redis://:hunter2@127.0.0.1:9/x?connectTimeoutMs=300';
    const file = join(scratch.path, 'url');
    writeFileSync(file, `${url}\n`);
    for (const env of [{ INCUMBENT_STORE: url }, { INCUMBENT_STORE: '', INCUMBENT_STORE_FILE: file }] as const) {
      const result = await incumbent(['doctor'], env);
      expect(result.output).not.toContain('hunter2');
      expect(result.output).toContain('127.0.0.1:9');
      expect(result.code).toBe(3);
    }
  });
});
