import { request } from 'node:http';
import { homedir } from 'node:os';
import { join } from 'node:path';

const PING_MS = 500;

/**
 * Whether a container engine answers on this machine, on `DOCKER_HOST` or on one of the sockets where engines usually listen. Takes half
 * a second at most, so that looking costs nothing where there is none. Only engines of this machine count: servers must be reached on its
 * loopback address, and keep their files in its folders.
 */
export async function hasContainerEngine(): Promise<boolean> {
  const answers = await Promise.all(sockets().map(answersAt));
  return answers.includes(true);
}

function sockets(): readonly string[] {
  const host = process.env['DOCKER_HOST'];
  if (host !== undefined) return host.startsWith('unix://') ? [host.slice('unix://'.length)] : [];
  const runtime = process.env['XDG_RUNTIME_DIR'];
  const usual = ['/var/run/docker.sock', join(homedir(), '.docker', 'run', 'docker.sock')];
  return runtime === undefined ? usual : [...usual, join(runtime, 'docker.sock')];
}

function answersAt(socketPath: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const ping = request({ socketPath, path: '/_ping', signal: AbortSignal.timeout(PING_MS) }, (response) => {
    response.resume();
    resolve(response.statusCode === 200);
  });
  ping.on('error', () => resolve(false));
  ping.end();
  return promise;
}
