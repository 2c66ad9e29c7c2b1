/** The token that etcd gives for a password, and asks for with every request. It expires, and a restarted server may not know it. */

/** Fetched when it is first needed, and again after it was turned away; one login at a time, shared by all who wait for it. */
export class TokenSource {
  readonly #login: () => Promise<string | undefined>;
  #token: Promise<string | undefined> | undefined;
  /** What the last login brought; undefined while one is under way. */
  #fetched: { readonly token: string | undefined } | undefined;

  /** `login` answers undefined where the server has no users. */
  constructor(login: () => Promise<string | undefined>) {
    this.#login = login;
  }

  token(): string | undefined | Promise<string | undefined> {
    if (this.#fetched !== undefined) return this.#fetched.token;
    this.#token ??= this.#fetch();
    return this.#token;
  }

  /** The server turned this token away. One that has taken its place meanwhile stays, and so does a login under way. */
  forget(token: string | undefined): void {
    if (this.#fetched === undefined || this.#fetched.token !== token) return;
    this.#fetched = undefined;
    this.#token = undefined;
  }

  async #fetch(): Promise<string | undefined> {
    try {
      const token = await this.#login();
      this.#fetched = { token };
      return token;
    } catch (error) {
      this.#token = undefined;
      throw error;
    }
  }
}
