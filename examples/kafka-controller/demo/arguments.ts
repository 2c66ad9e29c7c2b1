/** The arguments of the demo. */

import { parseArgs } from 'node:util';

export const USAGE = `usage: pnpm demo [--store URL] [--serve] [--short]

Five brokers elect a controller, as Kafka's did; it is killed, paused, told to
hand over, and all are restarted, while producers send messages. Takes some 30
seconds.

  --store URL   the store to run on: etcd://127.0.0.1:2379/demo, for example, or
                sqlite:, zookeeper:, consul:, postgres:, redis:; by default
                SQLite, in a temporary file
  --serve       with a page to watch it on, which stays up until Ctrl-C
  --short       without the second pause and the restarts
  --help        this text

Exit code: 0 when every promise held, 1 when one was broken or the demo could
not run, 2 for bad arguments. NO_COLOR=1 turns colours off. The store is left as
it was, but for the election's last term, which is never deleted.`;

export interface Wanted {
  /** The URL of the store. Undefined for a store of the demo's own. */
  readonly url: string | undefined;
  readonly serve: boolean;
  readonly short: boolean;
}

export type Request = { readonly help: true } | { readonly problem: string } | Wanted;

export function readArguments(args: readonly string[], platform: NodeJS.Platform): Request {
  try {
    const options = {
      store: { type: 'string' },
      serve: { type: 'boolean', default: false },
      short: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h' },
    } as const;
    const { values } = parseArgs({ args: [...args], options });
    if (values.help === true) return { help: true };
    return check({ url: values.store, serve: values.serve, short: values.short }, platform);
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

function check(wanted: Wanted, platform: NodeJS.Platform): Request {
  if (wanted.url === '') return { problem: '--store is empty: it must be the URL of a store' };
  if (wanted.url?.startsWith('memory:') === true) return { problem: 'the memory store lives in one process, and the demo has five' };
  return platform === 'win32' ? { problem: 'the demo needs SIGSTOP, which Windows does not have' } : wanted;
}
