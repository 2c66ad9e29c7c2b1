/** Where a member keeps what must outlive its process. */

export interface DurableStorage<Durable = unknown> {
  /** What was saved last; undefined: nothing, ever. Rejects where that cannot be told for certain. */
  load(): Promise<Durable | undefined>;
  /**
   * Resolves when it is durable: a crash of the process, or of the machine, loses it no more. Rejects when nobody knows. Called one at a time, and
   * never again after a rejection.
   */
  save(durable: Durable): Promise<void>;
  close(): Promise<void>;
}
