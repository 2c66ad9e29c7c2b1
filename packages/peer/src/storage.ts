/** Keeps what must survive the end of a member's process. */

/** The storage of one member's durable data, such as its vote. `voteFile` creates one. */
export interface DurableStorage<Durable = unknown> {
  /**
   * Returns what was saved last. Undefined: nothing was ever saved. Rejects if that is uncertain,
   * after it has released everything that it opened.
   */
  load(): Promise<Durable | undefined>;
  /**
   * Resolves when the data survive a crash of the process and of the machine. Rejects if that is
   * uncertain. Calls do not overlap, and none follows a rejection.
   */
  save(durable: Durable): Promise<void>;
  /** The member calls this once, and only if `load` has resolved. */
  close(): Promise<void>;
}
