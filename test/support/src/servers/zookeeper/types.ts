import type { Cluster, ClusterServer, OwnServer, StoreService, TlsMode, VersionOptions } from '../types.ts';

export interface ZookeeperOptions extends VersionOptions {
  /**
   * The server's unit of time, in ms. It grants sessions of 2 to 20 ticks. Default 500, so from 1 s
   * to 10 s.
   */
  readonly tickMs?: number;
  /** The password of the digest user `super`, who has all permissions. Default: none. */
  readonly superPassword?: string;
  /** Default: plain text. With TLS, nothing else is served. */
  readonly tls?: TlsMode;
  /** Whether a server without a quorum serves reads to clients that accept such a server. */
  readonly readOnly?: boolean;
  /** The largest heap of the server's Java machine, in MB. Default 128. */
  readonly heapMb?: number;
  /**
   * Additional lines of `zoo.cfg`, which override the generated ones: `['maxSessionTimeout=60000',
   * 'forceSync=yes']`.
   */
  readonly settings?: readonly string[];
}

/**
 * A running ZooKeeper, with URLs as `zookeeper://127.0.0.1:2181`, or `zookeepers:` with TLS. `ctl`
 * runs one command of zkCli, `['create', '/path', 'value']`, in a session that then expires, and
 * returns the output.
 */
export type Zookeeper = StoreService;

/** A ZooKeeper of one server for this process alone. */
export type ZookeeperServer = OwnServer;

/** One server of a cluster. */
export type ZookeeperClusterServer = ClusterServer;

/**
 * A ZooKeeper of several servers for this process alone. Their messages pass through this process,
 * so they suffer when it is blocked for long.
 */
export interface ZookeeperCluster extends Cluster {
  /**
   * From now on nothing passes between these two servers, and neither is notified. Clients still
   * reach both. Throws if there are no such servers.
   */
  cut(one: number, other: number): void;
  /** The same between a server and all others. */
  cutOff(server: number): void;
  /** Adds this latency to messages between this server and the others, each way. */
  slow(server: number, ms: number): void;
  /** All servers reach each other again. */
  heal(): Promise<void>;
}
