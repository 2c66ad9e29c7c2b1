import type { Cluster, ClusterServer, OwnServer, StoreService, TlsMode, VersionOptions } from '../types.ts';

export interface ZookeeperOptions extends VersionOptions {
  /**
   * The server's unit of time, in ms: it grants sessions from 2 to 20 of it. 500 by default: from 1
   * s to 10 s.
   */
  readonly tickMs?: number;
  /** The password of the digest user `super`, who may do everything. There is none by default. */
  readonly superPassword?: string;
  /** Plain text by default; with it, nothing else is served. */
  readonly tls?: TlsMode;
  /** Lets a server that has lost its quorum serve reads to clients that ask for such a server. */
  readonly readOnly?: boolean;
  /** The most that Java may take for the server's data and connections, in MB. 128 by default. */
  readonly heapMb?: number;
  /**
   * More lines of `zoo.cfg`, as they are, which take the place of those from here:
   * `['maxSessionTimeout=60000', 'forceSync=yes']`.
   */
  readonly settings?: readonly string[];
}

/**
 * A ZooKeeper that is there, with URLs as `zookeeper://127.0.0.1:2181`, or `zookeepers:` with TLS.
 * `ctl` runs one command of zkCli, `['create', '/path', 'value']`, in a session that it leaves to
 * expire, and gives what that prints.
 */
export type Zookeeper = StoreService;

/** One's own ZooKeeper of one server. */
export type ZookeeperServer = OwnServer;

/** One server of a cluster. */
export type ZookeeperClusterServer = ClusterServer;

/**
 * One's own ZooKeeper of several servers. What these say to one another passes through this
 * process, so they suffer when it is blocked for long.
 */
export interface ZookeeperCluster extends Cluster {
  /**
   * From now on nothing passes between these two servers, and neither is told; clients reach both
   * as before. Throws where there are no such two.
   */
  cut(one: number, other: number): void;
  /** The same between a server and all others. */
  cutOff(server: number): void;
  /** What this server and the others say to one another takes so much longer, each way. */
  slow(server: number, ms: number): void;
  /** All servers reach one another again. */
  heal(): Promise<void>;
}
