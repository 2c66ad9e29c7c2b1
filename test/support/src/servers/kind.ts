import type { OwnService } from './types.ts';

/** A server's own view: whether it leads its cluster, and in which term. */
export interface Leadership {
  readonly leads: boolean;
  readonly term: bigint;
}

/** Runs a program that comes with a server, and gives what it prints. */
type Run = (program: string, args: readonly string[]) => Promise<string>;

/** What tells the servers of one store from those of another. */
export interface ServerKind {
  /** For messages: "etcd". */
  readonly name: string;
  /** Whether it can serve now: it knows a leader. */
  serves(server: OwnService): Promise<boolean>;
  versionOf(server: OwnService): Promise<string>;
  /** Throws where it does not answer soon. */
  leadershipOf(server: OwnService): Promise<Leadership>;
  /**
   * Runs the store's command line tool against these endpoints, of the server's cluster, and gives
   * what it prints.
   */
  ctl(run: Run, endpoints: readonly string[], server: OwnService, args: readonly string[]): Promise<string>;
}
