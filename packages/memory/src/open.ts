/** Opening a memory store by URL or options, and the servers that stores of one process share by name. */

import { checkKnown, checkName, invalidOption, invalidSecret, showUrl } from '@incumbent/core/adapter';
import { connectOptions, type ConnectOptions, type MemoryServerOptions } from './options.ts';
import { MemoryServer, type MemoryStore } from './store.ts';

export interface MemoryOptions extends ConnectOptions {
  /** Stores of one name share one server. Default: a server of its own. */
  readonly name?: string;
  /** For a server that is not there yet. */
  readonly server?: MemoryServerOptions;
}

const URL = /^memory:(?:\/\/)?(?:([^@:/?#]+)(?:\/([^?#]+))?)?$/;

/** The servers that have a name, as long as a store of that name is open. */
const named = new Map<string, MemoryServer>();

/**
 * Opens a store: `memory:` one of its own, `memory:name` one that is shared by that name in this process, `memory:name/namespace` with a
 * namespace in it; or by options. The server goes, with all that it holds, when the last store on it is closed. Rejects with a
 * `RangeError` or `TypeError` (`INVALID_OPTION`, `INVALID_NAME`) for what cannot be used, options of a server that is there already included.
 */
export async function openMemory(target: string | MemoryOptions = {}): Promise<MemoryStore> {
  const options = typeof target === 'string' ? parse(target) : target;
  checkKnown('memory', options, ['name', 'server', ...connectOptions]);
  const { name, server, ...link } = options;
  return (name === undefined ? fresh(server) : shared(name, server)).connect(link);
}

function parse(url: string): MemoryOptions {
  const match = URL.exec(url);
  if (match === null) throw invalidSecret('url', url, 'memory:, memory:name or memory:name/namespace', showUrl(url));
  const [, name, namespace] = match;
  if (name === undefined) return {};
  return namespace === undefined ? { name } : { name, namespace };
}

function fresh(options: MemoryServerOptions = {}): MemoryServer {
  const server: MemoryServer = new MemoryServer(options, () => void server.close());
  return server;
}

function shared(name: string, options: MemoryServerOptions | undefined): MemoryServer {
  const there = named.get(checkName('name', name));
  if (there !== undefined && options !== undefined) throw invalidOption('server', options, `left out: "${name}" is open already`);
  return there ?? register(name, options);
}

function register(name: string, options: MemoryServerOptions = {}): MemoryServer {
  const server: MemoryServer = new MemoryServer(options, () => {
    named.delete(name);
    void server.close();
  });
  named.set(name, server);
  return server;
}
