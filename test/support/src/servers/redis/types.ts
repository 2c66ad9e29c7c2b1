import type { OwnServer, StoreService, TlsMode, VersionOptions } from '../types.ts';

export interface RedisOptions extends VersionOptions {
  /**
   * The one user that there is, with every right. By default there is none, and nobody needs to log
   * in.
   */
  readonly auth?: { readonly user: string; readonly password: string };
  /** Plain text by default; with it, nothing else is served. */
  readonly tls?: TlsMode;
  /** Whether it has after a restart what it had acknowledged before. True by default. */
  readonly persistent?: boolean;
  /**
   * More flags of redis-server, as they are, which take the place of those from here:
   * `['--maxmemory', '10mb']`.
   */
  readonly flags?: readonly string[];
}

/**
 * A Redis that is there, or a Valkey as the newer one, with URLs as `redis://127.0.0.1:6379`, or
 * `rediss:` with TLS. `ctl` runs redis-cli, with full rights: `['get', 'key']`.
 */
export type Redis = StoreService;

/** One's own Redis. */
export type RedisServer = OwnServer;
