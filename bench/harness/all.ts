/** What is opened side by side, and closed so: also what was opened when another could not be. */

export class All<T extends AsyncDisposable> implements AsyncDisposable {
  readonly #opened: T[] = [];

  /** All of them, or the first one's error, when the others have settled. */
  async add(opening: readonly Promise<T>[]): Promise<readonly T[]> {
    const settled = await Promise.allSettled(opening);
    for (const one of settled) if (one.status === 'fulfilled') this.#opened.push(one.value);
    return Promise.all(opening);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#opened.map((one) => one[Symbol.asyncDispose]()));
  }
}
