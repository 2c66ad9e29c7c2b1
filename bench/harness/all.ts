/** Opens items at the same time, and closes them at the same time. */
export class All<T extends AsyncDisposable> implements AsyncDisposable {
  readonly #opened: T[] = [];

  async add(opening: Promise<T>): Promise<T> {
    const one = await opening;
    this.#opened.push(one);
    return one;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#opened.map((one) => one[Symbol.asyncDispose]()));
  }
}
