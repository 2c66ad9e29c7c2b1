/** What the demo is called with. */

import { parseArgs } from 'node:util';

export const USAGE = `usage: pnpm demo [--store URL]

Three processes elect a leader, which is then killed, paused, told to hand over,
and stopped. Takes some 10 seconds.

  --store URL   the store to run on: etcd://127.0.0.1:2379/demo, for example;
                by default SQLite, in a temporary file
  --help        this text

Exit code: 0 when every promise held, 1 when one was broken or the demo could
not run, 2 for bad arguments. NO_COLOR=1 turns colours off. The store is left as
it was, but for the election's last term, which is never deleted.`;

export type Request = { readonly help: true } | { readonly problem: string } | { readonly url: string | undefined };

export function readArguments(args: readonly string[], platform: NodeJS.Platform): Request {
  try {
    const { values } = parseArgs({ args: [...args], options: { store: { type: 'string' }, help: { type: 'boolean', short: 'h' } } });
    if (values.help === true) return { help: true };
    return check(values.store, platform);
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

function check(url: string | undefined, platform: NodeJS.Platform): Request {
  if (url === '') return { problem: '--store is empty: it must be the URL of a store' };
  if (url?.startsWith('memory:') === true) return { problem: 'the memory store lives in one process, and the demo has three' };
  return platform === 'win32' ? { problem: 'the demo needs SIGSTOP, which Windows does not have' } : { url };
}
