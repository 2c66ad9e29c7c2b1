import type { OwnService } from './types.ts';

/** A server's own view: whether it leads its cluster, and in which term. */
export interface Leadership {
  readonly leads: boolean;
  readonly term: bigint;
}

/** Runs a program that belongs to a server, and returns its output. */
type Run = (program: string, args: readonly string[]) => Promise<string>;

/** What differs between the servers of different stores. */
export interface ServerKind {
  /** For messages: "etcd". */
  readonly name: string;
  /** Whether it serves requests now: it knows a leader. */
  serves(server: OwnService): Promise<boolean>;
  versionOf(server: OwnService): Promise<string>;
  /** Throws if it does not answer soon. */
  leadershipOf(server: OwnService): Promise<Leadership>;
  /**
   * Runs the store's command line tool on these endpoints of the server's cluster, and returns its
   * output.
   */
  ctl(run: Run, endpoints: readonly string[], server: OwnService, args: readonly string[]): Promise<string>;
}
