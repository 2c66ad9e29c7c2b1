import { homedir } from 'node:os';
import { join } from 'node:path';

import { Engine } from './engine.ts';

/**
 * The container engine of this machine: at `DOCKER_HOST`, or on the first of the usual sockets.
 * Undefined if none answers within half a second. Only engines of this machine count, because
 * servers must be reachable on its loopback address and keep their files in its folders.
 */
export async function findEngine(): Promise<Engine | undefined> {
  const engines = sockets().map((socket) => new Engine(socket));
  const answers = await Promise.all(engines.map((engine) => engine.answers()));
  return engines.find((_engine, index) => answers[index]);
}

function sockets(): readonly string[] {
  const host = process.env['DOCKER_HOST'];
  if (host !== undefined && host !== '') return host.startsWith('unix://') ? [host.slice('unix://'.length)] : [];
  const runtime = process.env['XDG_RUNTIME_DIR'];
  const usual = ['/var/run/docker.sock', join(homedir(), '.docker', 'run', 'docker.sock')];
  return runtime === undefined ? usual : [...usual, join(runtime, 'docker.sock')];
}
