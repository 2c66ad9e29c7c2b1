import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { describe, expect, test } from 'vitest';

import { freePort } from '../src/index.ts';
import { isAddressInUse, listen } from '../src/ports.ts';

describe('a free port', () => {
  test('can be listened on, and is then free no more', async () => {
    const port = await freePort();
    const [one, other] = [createServer(), createServer()];
    await listen(one, port);
    const failure = await listen(other, port).catch((error: unknown) => error);
    expect(isAddressInUse(failure)).toBe(true);
    one.close();
  });

  test('is below those that the system gives to outgoing connections', async () => {
    const ports = await Promise.all(Array.from({ length: 20 }, () => freePort()));
    expect(Math.max(...ports)).toBeLessThan(32_768);
    expect(Math.min(...ports)).toBeGreaterThan(1_024);
  });

  test('is never given out twice by one process: a server takes several before it binds the first', async () => {
    const ports = new Set<number>();
    // One by one: two that are looked at in one moment are not free.
    for (let index = 0; index < 1_000; index += 1) ports.add(await freePort());
    expect(ports.size).toBe(1_000);
  });

  test.runIf(process.platform === 'linux')('stays reserved for this process, also while nobody listens on it', async () => {
    const port = await freePort();
    const ports = fileURLToPath(new URL('../src/ports.ts', import.meta.url));
    const script = `import { reserve } from ${JSON.stringify(ports)}; console.log(await reserve(${port}), await reserve(${port + 30_000}));`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
    expect(stdout.trim()).toBe('false true');
  });
});
