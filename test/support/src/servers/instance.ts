/**
 * One server, as a process or as a container, that can be ended and started again on the same ports
 * and data.
 */
export interface Instance {
  /** Starts it, or starts it again. Does not wait until it serves. */
  start(): Promise<void>;
  running(): Promise<boolean>;
  /**
   * Sends the signal, SIGKILL by default, and resolves when it has ended. Nothing if it does not
   * run.
   */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Stops it where it is: its sockets stay open, and nothing answers. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /**
   * Runs another program that comes with the server, and gives what it prints. In a container that
   * takes a server that runs.
   */
  exec(program: string, args: readonly string[]): Promise<string>;
  canExec(): Promise<boolean>;
  /** The end of what it logged: for messages. */
  logTail(): Promise<string>;
  /** Ends it for good. */
  remove(): Promise<void>;
}

/** What to run, and the one folder in which it keeps everything. */
export interface InstancePlan {
  readonly program: string;
  readonly args: readonly string[];
  /** Its environment, and that of other programs of its, besides the PATH. */
  readonly env?: Readonly<Record<string, string>>;
  /** A folder that is there, for this instance or for those that live and die together. */
  readonly folder: string;
  /** Tells it apart from others in that folder. */
  readonly name: string;
}

export const LOG_TAIL_BYTES = 4_000;
