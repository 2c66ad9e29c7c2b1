import type { Certificates } from '../certificates.ts';

/** The release that this machine's system has; or a newer one, where one can be had. */
export type EtcdVersion = 'default' | 'newer';

export interface EtcdOptions {
  /** 'default' by default. */
  readonly version?: EtcdVersion;
  /** Switches authentication on, with this user and `root`, both of this password and all permissions. */
  readonly auth?: Credentials;
  /** 'server': clients check the server's certificate. 'mutual': the server demands a client's, too. Plain text by default. */
  readonly tls?: 'server' | 'mutual';
  /** More flags of etcd, as they are: `['--heartbeat-interval=20', '--election-timeout=200']`. */
  readonly flags?: readonly string[];
}

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** An etcd that is there, of one server or several. */
export interface Etcd {
  /** The first endpoint, and all of them: `http://127.0.0.1:2379`. */
  readonly url: string;
  readonly endpoints: readonly string[];
  /** The server's own word: `3.4.23`. */
  readonly version: string;
  /**
   * Runs etcdctl, a witness that shares no code with what is tested, with full rights, and gives what it prints. A flag takes the place
   * of the one that it would get, `['--user=alice:secret', 'get', 'key']`, and one without a value only leaves it out: `--user=`.
   */
  ctl(args: readonly string[]): Promise<string>;
}

/** What one's own etcd has besides. */
export interface OwnEtcd extends Etcd {
  readonly auth?: Credentials;
  readonly tls?: Certificates;
}

/** The faults of one server. */
export interface Faults {
  /** Sends the signal, SIGKILL by default, at once; resolves when the server has ended. Nothing if it does not run. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Ends it with SIGKILL if it runs, starts it on the same ports and data, and resolves when it serves. In a cluster that takes a quorum. */
  restart(): Promise<void>;
  /** SIGSTOP: its sockets stay open and nothing answers. */
  pause(): Promise<void>;
  /** SIGCONT. */
  resume(): Promise<void>;
}

/** One's own etcd of one server. It ends at the latest with this process. */
export interface EtcdServer extends OwnEtcd, Faults, AsyncDisposable {
  /** Ends the server and removes its data. Idempotent. */
  stop(): Promise<void>;
}

/** One server of a cluster: `url` and `endpoints` are its alone. */
export interface EtcdClusterServer extends OwnEtcd, Faults {}

/** One's own etcd of several servers. It ends at the latest with this process. */
export interface EtcdCluster extends OwnEtcd, AsyncDisposable {
  readonly servers: readonly EtcdClusterServer[];
  /** The index of the server that leads now, by the highest term among those that answer. Waits for one, 10 s at most. */
  leader(): Promise<number>;
  /** Ends the servers and removes their data. Idempotent. */
  stop(): Promise<void>;
}
