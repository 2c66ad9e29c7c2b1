/**
 * One server, as a process or a container, that can be killed and started again on the same ports
 * and data.
 */
export interface Instance {
  /** Starts it, also after it has ended. Does not wait until it serves requests. */
  start(): Promise<void>;
  running(): Promise<boolean>;
  /**
   * Sends the signal (default SIGKILL), and resolves when it has ended. Does nothing if it does not
   * run.
   */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Stops it: its sockets stay open, and it answers nothing. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /**
   * Runs another program that belongs to the server, and returns its output. A container must be
   * running.
   */
  exec(program: string, args: readonly string[]): Promise<string>;
  canExec(): Promise<boolean>;
  /** The end of its log, for error messages. */
  logTail(): Promise<string>;
  /** Ends it permanently. */
  remove(): Promise<void>;
}

/** The command of a server, and the folder that contains all its files. */
export interface InstancePlan {
  readonly program: string;
  readonly args: readonly string[];
  /** The environment of it and of its other programs, except the PATH. */
  readonly env?: Readonly<Record<string, string>>;
  /** An existing folder for this instance, or for several that have the same lifetime. */
  readonly folder: string;
  /** Distinguishes it from the others in that folder. */
  readonly name: string;
  /**
   * Whether the program refuses to run as root. As root, a container then runs it as another user,
   * who becomes the owner of the folder. Programs of this machine must see to it themselves.
   */
  readonly refusesRoot?: boolean;
}

export const LOG_TAIL_BYTES = 4_000;
