/** Starts the reaper's process. */

import { spawn, type ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

import { moduleBeside } from '@incumbent/core/adapter';

/** What Node and its libraries read before a program can tell them otherwise. Of all else nothing is passed on: there may be secrets in it. */
const KEPT = ['LD_LIBRARY_PATH', 'NODE_EXTRA_CA_CERTS', 'OPENSSL_CONF', 'SSL_CERT_DIR', 'SSL_CERT_FILE', 'SystemRoot', 'TZ'];

/** By which modules are found. Not those that inspect, preload, or size the memory of the program. */
const PASSED_ON = /^(?:--conditions|-C|--disable-warning|--use-openssl-ca|--use-system-ca|--use-bundled-ca)(?:=|$)/;

/**
 * It does little, and once: it need not be fast at what is done often. Without compilers and with a small heap it takes some MB less, and its allocator one arena in
 * place of one a thread. Not `--lite-mode`, which would take WebAssembly from adapters, too.
 */
const LEAN = ['--no-opt', '--no-maglev', '--no-sparkplug', '--optimize-for-size', '--max-semi-space-size=1'];
const LEAN_ENV = { MALLOC_ARENA_MAX: '1' };

export interface Started {
  readonly child: ChildProcess;
  /** Undefined where the system has started nothing, which the child's `error` is about to tell. */
  readonly pipe: Socket | undefined;
}

/**
 * In a session of its own, so that what a terminal or a supervisor sends to this process's group does not reach it; with nothing of this process but a pipe: no stdio
 * that somebody waits for the end of, no folder that could not be unmounted. Does not keep this process alive. `lean`: with options of V8's, which another
 * version of Node may not know.
 */
export function startProcess(lean: boolean): Started {
  const main = fileURLToPath(moduleBeside(import.meta.url, 'process/main'));
  const child = spawn(process.execPath, [...(lean ? LEAN : []), ...nodeOptions(process.execArgv), main], {
    cwd: '/',
    detached: true,
    env: { ...LEAN_ENV, ...kept(process.env) },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    windowsHide: true,
  });
  child.unref();
  return { child, pipe: pipeTo(child)?.unref() };
}

/** Where no descriptor is left, or no memory, a child has no stdio at all, whatever its type says. */
function pipeTo({ stdio }: { readonly stdio?: ChildProcess['stdio'] }): Socket | undefined {
  const pipe = stdio?.[3];
  return pipe instanceof Socket ? pipe : undefined;
}

function kept(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(KEPT.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}

/** Those of this process's own options that its reaper needs too. */
export function nodeOptions(execArgv: readonly string[]): readonly string[] {
  const chosen: string[] = [];
  for (const [at, argument] of execArgv.entries()) {
    if (!PASSED_ON.test(argument)) continue;
    const value = execArgv[at + 1];
    if (/^(?:--conditions|-C|--disable-warning)$/.test(argument)) chosen.push(argument, ...(value === undefined ? [] : [value]));
    else chosen.push(argument);
  }
  return chosen;
}
