/** What another user can do who may read the files of a store and may not write to them. */

import { chmodSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqlite } from '@incumbent/sqlite';
import { makeScratch, spawnScript, until, type Scratch, type ScriptProcess } from '@incumbent/test-support';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { canBecomeOthers, spawnCommand } from './commands.ts';

const MEMBER = new URL('scripts/member.ts', import.meta.url);
const WAIT = { withinMs: 30_000 };
const TTL_MS = 2_000;

/**
 * Opens a file for reading alone as the user 65534, takes a shared lock on byte 120, and holds it.
 * Node has no call for locks. In the index of the log (`-shm`), byte 120 is the lock of the process
 * that writes (https://sqlite.org/walformat.html, "WAL Locks").
 */
const READER = `
$| = 1;
$( = $) = 65534; $< = $> = 65534;
open(my $file, '<', $ARGV[0]) or do { print "refused: $!\\n"; exit 1 };
my $lock = pack('s s x4 q q l x4', 0, 0, 120, 1, 0);
fcntl($file, 6, $lock) or die $!;
print "locked\\n";
sleep 600;
`;

let scratch: Scratch;
let file: string;
beforeEach(async () => {
  scratch = await makeScratch('reader');
  chmodSync(scratch.path, 0o755);
  file = join(scratch.path, 'state.db');
});
afterEach(async () => scratch.remove());

function begin(memberId: string): Promise<ScriptProcess> {
  return spawnScript(MEMBER, { args: [file, memberId, String(TTL_MS)] });
}

async function read(): Promise<ScriptProcess> {
  const reader = await spawnCommand('perl', ['-e', READER, `${file}-shm`]);
  await until(() => reader.output.some((line) => /^(locked|refused)/.test(line)), { what: 'the reader has tried', ...WAIT });
  return reader;
}

describe.runIf(process.platform === 'linux' && process.arch !== 'ia32' && canBecomeOthers())('another user who may read the file', () => {
  it('stops all elections while holding a lock on the index of the log', async () => {
    await (await openSqlite({ file })).close();
    chmodSync(file, 0o644);
    await using leader = await begin('a');
    await leader.waitFor('elected', WAIT);
    await using other = await begin('b');
    await other.waitFor('ready', WAIT);
    await using reader = await read();
    expect(reader.output).toContain('locked');
    const count = (name: string): number => [...leader.events, ...other.events].filter(({ event }) => event === name).length;
    await until(() => count('ended') === count('elected'), { what: 'no member leads', ...WAIT });
    const elections = count('elected');
    await sleep(2 * TTL_MS);
    expect(count('elected')).toBe(elections);
    reader.sigkill();
    await until(() => count('elected') > elections, { what: 'somebody leads again', ...WAIT });
  });

  it('cannot do so if the file has the mode that a store gives it', async () => {
    await using leader = await begin('a');
    await leader.waitFor('elected', WAIT);
    await using reader = await read();
    expect(existsSync(`${file}-shm`)).toBe(true);
    expect(reader.output.join('\n')).toContain('refused: Permission denied');
  });
});
