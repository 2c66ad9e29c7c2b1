import type { Cluster, ClusterServer, Credentials, OwnServer, StoreService, TlsMode, VersionOptions } from '../types.ts';

export interface EtcdOptions extends VersionOptions {
  /**
   * Switches authentication on, with this user and `root`, both of this password and all
   * permissions.
   */
  readonly auth?: Credentials;
  /** Plain text by default. */
  readonly tls?: TlsMode;
  /** More flags of etcd, as they are: `['--heartbeat-interval=20', '--election-timeout=200']`. */
  readonly flags?: readonly string[];
}

/**
 * An etcd that is there, with URLs as `http://127.0.0.1:2379`. `ctl` runs etcdctl, with full
 * rights. A flag takes the place of the one that it would get, `['--user=alice:secret', 'get',
 * 'key']`, and one without a value only leaves it out: `--user=`.
 */
export type Etcd = StoreService;

/** One's own etcd of one server. */
export type EtcdServer = OwnServer;

/** One server of a cluster. */
export type EtcdClusterServer = ClusterServer;

/** One's own etcd of several servers. */
export interface EtcdCluster extends Cluster {
  /**
   * From now on nothing passes between this server and the others, and nobody is told; clients
   * reach all as before. Only of a cluster that was started `gated`.
   */
  cutOff(server: number): void;
  /**
   * From now on nothing that one server says reaches the other, which is heard as before. Likewise.
   */
  cutOneWay(from: number, to: number): void;
  /**
   * What this server and the others say to one another takes so much longer, each way. Likewise.
   */
  slow(server: number, ms: number): void;
  /**
   * From now on the first server cannot write to its disk. Only of a cluster that was started
   * `freezable`.
   */
  freezeDisk(): Promise<void>;
  /** It can again. Likewise. */
  thawDisk(): Promise<void>;
  /** All servers reach one another again. */
  heal(): Promise<void>;
}
