import type { Certificates } from './certificates.ts';

const STORE_NAMES = ['consul', 'etcd', 'kubernetes', 'postgres', 'redis', 'zookeeper'] as const;

export type StoreName = (typeof STORE_NAMES)[number];

export function isStoreName(value: unknown): value is StoreName {
  return STORE_NAMES.some((name) => name === value);
}

/** The release of this machine's system, or a newer one if available. */
export type StoreVersion = 'default' | 'newer';

export interface VersionOptions {
  /** Default 'default'. */
  readonly version?: StoreVersion;
}

/**
 * 'server': clients check the server's certificate. 'mutual': the server also requires a client
 * certificate.
 */
export type TlsMode = 'server' | 'mutual';

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** A running store of one or several servers. */
export interface StoreService {
  /** The first endpoint, and all of them. */
  readonly url: string;
  readonly endpoints: readonly string[];
  /** As the server reports it: `3.4.23`. */
  readonly version: string;
  /**
   * Runs the store's own command line tool, which shares no code with what is tested, and returns
   * its output.
   */
  ctl(args: readonly string[]): Promise<string>;
}

/** The additional properties of a store for this process alone. */
export interface OwnService extends StoreService {
  readonly auth?: Credentials;
  readonly tls?: Certificates;
}

/** The faults of one server. */
export interface Faults {
  /**
   * Sends the signal (default SIGKILL) at once. Resolves when the server has ended. Does nothing if
   * it does not run.
   */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /**
   * Kills it with SIGKILL if it runs, starts it on the same ports and data, and resolves when it
   * serves requests. In a cluster this needs a quorum.
   */
  restart(): Promise<void>;
  /** SIGSTOP: its sockets stay open, and it answers nothing. */
  pause(): Promise<void>;
  /** SIGCONT. */
  resume(): Promise<void>;
}

/** A store of one server for this process alone. It ends with this process at the latest. */
export interface OwnServer extends OwnService, Faults, AsyncDisposable {
  /** Ends the server and removes its data. Idempotent. */
  stop(): Promise<void>;
}

/** One server of a cluster. `url` and `endpoints` are its own. */
export interface ClusterServer extends OwnService, Faults {}

/** A store of several servers for this process alone. It ends with this process at the latest. */
export interface Cluster extends OwnService, AsyncDisposable {
  readonly servers: readonly ClusterServer[];
  /**
   * The index of the current leader: the one with the highest term among those that answer. Waits
   * up to 10 s for one.
   */
  leader(): Promise<number>;
  /** Stops the servers and removes their data. Idempotent. */
  stop(): Promise<void>;
}
