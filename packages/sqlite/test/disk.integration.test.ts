/** A disk that is full in truth: a small one in memory, in a mount namespace of its own. */

import { canUnshare, makeScratch } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import { nodeCommand, spawnCommand } from './commands.ts';

const FILLER = new URL('scripts/filler.ts', import.meta.url);
const LOG_FILLER = new URL('scripts/log-filler.ts', import.meta.url);
const MOUNT = 'mount -t tmpfs -o size=512k,mode=700 incumbent "$1" && shift && exec "$@"';

describe.runIf(canUnshare('--mount'))('a full disk', () => {
  it('refuses writes as notSent, keeps all data, and accepts writes when there is space again', async () => {
    const scratch = await makeScratch('disk');
    const script = nodeCommand(FILLER, [scratch.path]);
    await using filler = await spawnCommand('unshare', ['--mount', 'sh', '-c', MOUNT, 'sh', scratch.path, ...script]);
    await filler.waitFor('checked', { withinMs: 20_000 });
    expect(await filler.exited).toBe(0);
    const events = (name: string): readonly unknown[] => filler.events.filter(({ event }) => event === name).map(({ fields }) => fields);
    expect(events('full')).toEqual([{ free: 0 }]);
    expect(events('tried')).toEqual([
      { swap: 'UNAVAILABLE notSent' },
      { swap: 'UNAVAILABLE notSent' },
      { opening: 'UNAVAILABLE notSent' },
      { revocation: 'UNAVAILABLE notSent' },
      { swap: 'done', renewal: 'done' },
      { revocation: 'done', there: false },
    ]);
    expect(events('failed')).toEqual(Array.from({ length: 4 }, () => ({ message: expect.stringContaining('the disk is full') })));
    expect(events('read')).toEqual([{ there: [true, false, false] }]);
    expect(events('checked')).toEqual([{ integrity: 'ok' }]);
    expect(filler.output).toEqual([]);
    await scratch.remove();
  });

  it('that the log alone has filled keeps accepting renewals, because the log starts again', async () => {
    const scratch = await makeScratch('disk');
    const script = nodeCommand(LOG_FILLER, [scratch.path]);
    await using filler = await spawnCommand('unshare', ['--mount', 'sh', '-c', MOUNT, 'sh', scratch.path, ...script]);
    await filler.waitFor('read', { withinMs: 30_000 });
    expect(await filler.exited).toBe(0);
    expect(filler.events.map(({ event, fields }) => ({ event, ...fields }))).toEqual([
      { event: 'renewed', failed: [], leastFree: 0 },
      { event: 'read', there: true },
    ]);
    await scratch.remove();
  });
});
