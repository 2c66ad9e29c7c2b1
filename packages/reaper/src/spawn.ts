/** Starts the reaper process. */

import { spawn, type ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

import { moduleBeside } from '@incumbent/core/adapter';

/**
 * Variables that Node and its libraries read at their start. No other variable is passed on,
 * because it may contain a secret.
 */
const PASSED_ENV = ['LD_LIBRARY_PATH', 'NODE_EXTRA_CA_CERTS', 'OPENSSL_CONF', 'SSL_CERT_DIR', 'SSL_CERT_FILE', 'SystemRoot', 'TZ'];

/**
 * Node options that decide which modules are found and trusted. Not those that debug, preload or
 * size the heap.
 */
const PASSED_OPTIONS = /^(?:--conditions|-C|--disable-warning|--use-openssl-ca|--use-system-ca|--use-bundled-ca)(?:=|$)/;

/**
 * The reaper works once and briefly, so it needs no optimizing compilers, only a small heap, and
 * one allocator arena instead of one per thread. That saves some MB. Not `--lite-mode`, which would
 * also take WebAssembly from adapters.
 */
const LEAN_OPTIONS = ['--no-opt', '--no-maglev', '--no-sparkplug', '--optimize-for-size', '--max-semi-space-size=1'];
const LEAN_ENV = { MALLOC_ARENA_MAX: '1' };

export interface SpawnedReaper {
  readonly child: ChildProcess;
  /** Undefined if the system could not start the process; the child's `error` event follows. */
  readonly pipe: Socket | undefined;
}

/**
 * Starts the reaper process in a session of its own, so that signals to this process's group do not
 * reach it. It inherits only the pipe: no standard streams that somebody waits for, and no working
 * directory that could not be unmounted. It does not keep this process alive.
 *
 * @param lean Whether to pass the V8 options that save memory. Other versions of Node may not know
 *   them.
 */
export function startProcess(lean: boolean): SpawnedReaper {
  // This file stays in the root of src: in the published bundle, import.meta.url is a file of
  // dist's root.
  const main = fileURLToPath(moduleBeside(import.meta.url, 'process/main'));
  const child = spawn(process.execPath, [...(lean ? LEAN_OPTIONS : []), ...nodeOptions(process.execArgv), main], {
    cwd: '/',
    detached: true,
    env: { ...LEAN_ENV, ...passedEnv(process.env) },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    windowsHide: true,
  });
  child.unref();
  return { child, pipe: pipeTo(child)?.unref() };
}

/**
 * A child that could not be started, for want of descriptors or memory, has no `stdio`, although
 * its type has.
 */
function pipeTo({ stdio }: { readonly stdio?: ChildProcess['stdio'] }): Socket | undefined {
  const pipe = stdio?.[3];
  return pipe instanceof Socket ? pipe : undefined;
}

function passedEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(PASSED_ENV.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}

/** The options of this Node process that its reaper process needs too. */
export function nodeOptions(execArgv: readonly string[]): readonly string[] {
  const chosen: string[] = [];
  for (const [at, argument] of execArgv.entries()) {
    if (!PASSED_OPTIONS.test(argument)) continue;
    const value = execArgv[at + 1];
    if (/^(?:--conditions|-C|--disable-warning)$/.test(argument)) chosen.push(argument, ...(value === undefined ? [] : [value]));
    else chosen.push(argument);
  }
  return chosen;
}
