import { createServer } from 'node:http';

import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';

import { CHECK_EVERY_MS, MAX_FAILURES, startHealthCheck, urlCheck } from '../../src/serve/health-check.ts';

describe('the check of an application', () => {
  it('says healthy at the first success, and unhealthy after failures in a row', async () => {
    const clock = new ManualClock();
    const changes: boolean[] = [];
    let ok = false;
    const check = (): Promise<void> => (ok ? Promise.resolve() : Promise.reject(new Error('no')));
    const stop = startHealthCheck({ clock, check, changed: (healthy) => void changes.push(healthy) });
    await clock.advance(10 * CHECK_EVERY_MS);
    expect(changes).toEqual([]);
    ok = true;
    await clock.advance(CHECK_EVERY_MS);
    expect(changes).toEqual([true]);
    ok = false;
    await clock.advance((MAX_FAILURES - 1) * CHECK_EVERY_MS);
    ok = true;
    await clock.advance(CHECK_EVERY_MS);
    ok = false;
    await clock.advance((MAX_FAILURES - 1) * CHECK_EVERY_MS);
    expect(changes).toEqual([true]);
    await clock.advance(CHECK_EVERY_MS);
    expect(changes).toEqual([true, false]);
    stop();
    expect(clock.timers).toBe(0);
  });

  it.each([
    [200, true],
    [302, true],
    [404, false],
    [503, false],
  ])('of a URL that answers %i succeeds: %s', async (status, succeeds) => {
    const server = createServer((_request, response) => response.writeHead(status, status === 302 ? { location: '/' } : {}).end('x'));
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const outcome = await urlCheck(new URL(`http://127.0.0.1:${port}/healthz`))().then(
      () => true,
      () => false,
    );
    expect(outcome).toBe(succeeds);
    server.closeAllConnections();
    server.close();
  });
});
