/** The token that etcd issues for a password, and requires with every request. */

/**
 * Fetches the token when it is first needed, and again after a server has rejected it. A token
 * expires, and a server that was restarted may not know it. One login runs at a time, shared by all
 * who wait for it.
 */
export class TokenSource {
  readonly #login: () => Promise<string | undefined>;
  #token: Promise<string | undefined> | undefined;
  /** The result of the last login. Undefined while a login is under way. */
  #fetched: { readonly token: string | undefined } | undefined;

  /** `login` resolves with undefined if the server has no users. */
  constructor(login: () => Promise<string | undefined>) {
    this.#login = login;
  }

  token(): string | undefined | Promise<string | undefined> {
    if (this.#fetched !== undefined) return this.#fetched.token;
    this.#token ??= this.#fetch();
    return this.#token;
  }

  /** A server rejected this token. Keeps a newer token, and a login that is under way. */
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
