/** What is opened side by side, and closed so. */
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
