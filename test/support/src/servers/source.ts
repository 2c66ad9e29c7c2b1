/**
 * No server of this store can be had on this machine; the message says what was tried. Tests that
 * need one are skipped, loudly.
 */
export class StoreUnavailable extends Error {
  constructor(store: string, reasons: readonly string[]) {
    super(`no ${store} to be had: ${reasons.join('; ')}`);
    this.name = 'StoreUnavailable';
  }
}

/** A place where a store's servers may come from. */
export interface Candidate<T> {
  readonly what: string;
  /** Undefined where there is none; throws where there should be one. */
  find(): Promise<T | undefined>;
}

/**
 * What the first candidate that has something finds. Throws {@link StoreUnavailable} where none
 * has.
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
