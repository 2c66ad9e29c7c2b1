/**
 * No server of this store is available on this machine. The message says what was tried. Tests that
 * need one are skipped with a message.
 */
export class StoreUnavailable extends Error {
  constructor(store: string, reasons: readonly string[]) {
    super(`no ${store} to be had: ${reasons.join('; ')}`);
    this.name = 'StoreUnavailable';
  }
}

/** A possible source of a store's servers. */
export interface Candidate<T> {
  readonly what: string;
  /** Undefined if there is none. Throws if there should be one. */
  find(): Promise<T | undefined>;
}

/**
 * The result of the first candidate that finds something. Throws {@link StoreUnavailable} if none
 * does.
 */
export async function firstOf<T>(store: string, candidates: readonly Candidate<T>[]): Promise<T> {
  const reasons: string[] = [];
  for (const { what, find } of candidates) {
    try {
      const found = await find();
      if (found !== undefined) return found;
      reasons.push(`no ${what}`);
    } catch (error) {
      reasons.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new StoreUnavailable(store, reasons);
}
