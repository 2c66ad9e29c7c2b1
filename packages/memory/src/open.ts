/** Opens a memory store by URL or options. Stores of one process share a server by its name. */

import { checkKnown, checkName, invalidOption, invalidSecret, isUrl, showUrl, urlText } from '@incumbent/core/adapter';
import { connectOptions, type ConnectOptions, type MemoryServerOptions } from './options.ts';
import { MemoryServer, type MemoryStore } from './store.ts';

/** The options of {@link openMemory}: those of a client, and the server to connect to. */
export interface MemoryOptions extends ConnectOptions {
  /** The stores of one name share one server. Default: the store has a server of its own. */
  readonly name?: string | undefined;
  /** The options of the server, if the store is the first one of its name. */
  readonly server?: MemoryServerOptions | undefined;
}

const SHAPE = /^memory:(?:\/\/)?(?:([^@:/?#]+)(?:\/([^?#]+))?)?$/;

/** The servers with a name, as long as a store of that name is open. */
const named = new Map<string, MemoryServer>();

/**
 * Opens a store by URL or options: `memory:` has a server of its own, `memory:name` shares the
 * server of that name in this process, and `memory:name/namespace` uses a namespace of that server.
 * The server and its data are deleted when its last store is closed.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION`, also for options of a server that exists
 * already; `INVALID_NAME`
 */
export async function openMemory(target: string | URL | MemoryOptions = {}): Promise<MemoryStore> {
  const options = isUrl(target) ? parse(urlText(target)) : target;
  checkKnown('memory', options, ['name', 'server', ...connectOptions]);
  const { name, server, ...link } = options;
  const there = name === undefined ? undefined : named.get(checkName('name', name));
  if (there !== undefined && server !== undefined) throw invalidOption('server', server, `left out: "${name}" is open already`);
  const connected = there ?? createServer(name, server);
  const store = connected.connect(link);
  if (name !== undefined) named.set(name, connected);
  return store;
}

function parse(url: string): MemoryOptions {
  const match = SHAPE.exec(url);
  if (match === null) throw invalidSecret('url', url, 'memory:, memory:name or memory:name/namespace', showUrl(url));
  const [, name, namespace] = match;
  if (name === undefined) return {};
  return namespace === undefined ? { name } : { name, namespace };
}

function createServer(name: string | undefined, options: MemoryServerOptions = {}): MemoryServer {
  const server: MemoryServer = new MemoryServer(options, () => {
    if (name !== undefined) named.delete(name);
    void server.close();
  });
  return server;
}
