import type { OwnServer, StoreService, TlsMode, VersionOptions } from '../types.ts';

export interface RedisOptions extends VersionOptions {
  /** The only user, with all permissions. Default: no users and no login. */
  readonly auth?: { readonly user: string; readonly password: string };
  /** Default: plain text. With TLS, nothing else is served. */
  readonly tls?: TlsMode;
  /** Whether acknowledged writes survive a restart. Default true. */
  readonly persistent?: boolean;
  /**
   * Additional flags of redis-server, which override the generated ones: `['--maxmemory', '10mb']`.
   */
  readonly flags?: readonly string[];
}

/**
 * A running Redis (or Valkey as the newer version), with URLs as `redis://127.0.0.1:6379`, or
 * `rediss:` with TLS. `ctl` runs redis-cli with all permissions: `['get', 'key']`.
 */
export type Redis = StoreService;

/** A Redis for this process alone. */
export type RedisServer = OwnServer;
