import type { Cluster, Credentials, OwnServer, StoreService, TlsMode, VersionOptions } from '../types.ts';

export interface PostgresOptions extends VersionOptions {
  /** The superuser, who needs this password. Default: `test`, without a password. */
  readonly auth?: Credentials;
  /** Default: plain text. With TLS, connections without it are rejected. */
  readonly tls?: TlsMode;
  /** Settings of the server, which override the generated ones: `{ fsync: 'off' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /**
   * Whether the server has a system identifier of its own. Default false: it shares one with the
   * other servers of its version, and starts faster.
   */
  readonly ownIdentity?: boolean;
}

/**
 * A running PostgreSQL, with URLs as `postgres://test@127.0.0.1:5432/postgres`: the superuser, with
 * a password if the user has one, and a database. `ctl` runs psql as the superuser, without headers
 * and alignment: `['-c', 'select 1']`.
 */
export type Postgres = StoreService;

/**
 * A PostgreSQL of one server for this process alone. The signals of `kill` have PostgreSQL's
 * meanings: SIGINT ends it after it has disconnected its clients. SIGKILL, `pause` and `resume` act
 * on all its processes.
 */
export type PostgresServer = OwnServer;

/** A primary and its standby servers, for this process alone. */
export interface PostgresCluster extends Cluster {
  /**
   * Makes a standby server (default: the second server) a primary, with `pg_ctl promote`. Resolves
   * when it accepts writes. Does nothing to the former primary: kill or pause it before, or there
   * are two.
   */
  promote(server?: number): Promise<void>;
  /**
   * Replaces the data of a server by a copy of the current primary's data, and starts the server as
   * a standby in the mode of the cluster. Resolves when it follows. Heal the connections before.
   */
  follow(server: number): Promise<void>;
  /**
   * Resolves when as many standby servers as given (default: all others) follow the primary in the
   * mode of the cluster, and have written everything that the primary has written so far.
   */
  inSync(standbys?: number): Promise<void>;
  /**
   * From now on nothing passes between the servers, and neither side is notified. Clients still
   * reach all servers.
   */
  cutOff(): void;
  /** The servers reach each other again. */
  heal(): Promise<void>;
}
