/** The example for Kubernetes as in its pod, where it is PID 1. */

import { setTimeout as sleep } from 'node:timers/promises';
import { canBePidOne, freePort, signalPidOne, spawnAsPidOne, until } from '@incumbent/test-support';
import { expect, it } from 'vitest';

const WAIT_MS = 45_000;

it.runIf(canBePidOne())('a pod waits for its store, and ends at SIGTERM meanwhile', async () => {
  const [port, nowhere] = await Promise.all([freePort(), freePort()]);
  const program = new URL('../../examples/kubernetes/main.ts', import.meta.url);
  await using pod = await spawnAsPidOne(program, { args: [`etcd://127.0.0.1:${nowhere}/my-app`, String(port)] });
  const isThere = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status === 503;
  await until(async () => !pod.running || (await isThere()), { what: 'the pod', withinMs: WAIT_MS });
  await signalPidOne(pod, 'SIGTERM');
  expect(await Promise.race([pod.exited, sleep(WAIT_MS, 'it did not exit', { ref: false })])).toBe(143);
});
