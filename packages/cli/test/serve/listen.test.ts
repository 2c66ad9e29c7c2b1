import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { listenAnywhere } from '@incumbent/test-support';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { startServer } from '../../src/serve/http/listen.ts';
import type { ListenAddress } from '../../src/serve/http/server.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'listen-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function failure(address: ListenAddress): Promise<string> {
  const started = startServer({ address, access: { isLocal: true }, routes: [], failed: () => {} });
  return started.then(
    () => 'it listens',
    (error: unknown) => (error instanceof Error ? error.message : ''),
  );
}

describe('the error if the command cannot listen', () => {
  it.each([
    ['in a folder that does not exist', 'none/s.sock', 'there is no folder '],
    ['at a file that is no socket', 'file', 'another process listens there, or the file is no socket: '],
    ['at a path that is too long', 'x'.repeat(120), 'the path is too long for a socket: '],
  ])('%s names the cause', async (_where, path, cause) => {
    await writeFile(join(folder, 'file'), '');
    const message = await failure({ path: join(folder, path) });
    expect(message).toContain(`cannot listen at --listen: ${cause}`);
    expect(message).toContain(path);
  });

  it('at a port that is taken names the cause', async () => {
    const other = createServer();
    const { port } = await listenAnywhere(other);
    expect(await failure({ host: '127.0.0.1', port })).toContain(
      'cannot listen at --listen: another process listens there: listen EADDRINUSE',
    );
    other.close();
    await once(other, 'close');
  });
});
