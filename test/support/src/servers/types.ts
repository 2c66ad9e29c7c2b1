import type { Certificates } from './certificates.ts';

const STORE_NAMES = ['consul', 'etcd', 'redis', 'zookeeper'] as const;

export type StoreName = (typeof STORE_NAMES)[number];

export function isStoreName(value: unknown): value is StoreName {
  return STORE_NAMES.some((name) => name === value);
}

/** The release that this machine's system has; or a newer one, where one can be had. */
export type StoreVersion = 'default' | 'newer';

export interface VersionOptions {
  /** 'default' by default. */
  readonly version?: StoreVersion;
}

/**
 * 'server': clients check the server's certificate. 'mutual': the server demands a client's, too.
 */
export type TlsMode = 'server' | 'mutual';

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** A store that is there, of one server or several. */
export interface StoreService {
  /** The first endpoint, and all of them. */
  readonly url: string;
  readonly endpoints: readonly string[];
  /** The server's own word: `3.4.23`. */
  readonly version: string;
  /**
   * Runs the store's own command line tool, a witness that shares no code with what is tested, and
   * gives what it prints.
   */
  ctl(args: readonly string[]): Promise<string>;
}

/** What one's own store has besides. */
export interface OwnService extends StoreService {
  readonly auth?: Credentials;
  readonly tls?: Certificates;
}

/** The faults of one server. */
export interface Faults {
  /**
   * Sends the signal, SIGKILL by default, at once; resolves when the server has ended. Nothing if
   * it does not run.
   */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /**
   * Ends it with SIGKILL if it runs, starts it on the same ports and data, and resolves when it
   * serves. In a cluster that takes a quorum.
   */
  restart(): Promise<void>;
  /** SIGSTOP: its sockets stay open and nothing answers. */
  pause(): Promise<void>;
  /** SIGCONT. */
  resume(): Promise<void>;
}

/** One's own store of one server. It ends at the latest with this process. */
export interface OwnServer extends OwnService, Faults, AsyncDisposable {
  /** Ends the server and removes its data. Idempotent. */
  stop(): Promise<void>;
}

/** One server of a cluster: `url` and `endpoints` are its alone. */
export interface ClusterServer extends OwnService, Faults {}

/** One's own store of several servers. It ends at the latest with this process. */
export interface Cluster extends OwnService, AsyncDisposable {
  readonly servers: readonly ClusterServer[];
  /**
   * The index of the server that leads now, by the highest term among those that answer. Waits for
   * one, 10 s at most.
   */
  leader(): Promise<number>;
  /** Ends the servers and removes their data. Idempotent. */
  stop(): Promise<void>;
}
