/** The messages of `serve` on standard error. */

import type { Printer, Style } from '../common/printer.ts';
import { RunLog, type Verbosity } from '../run/log.ts';

export class ServeLog extends RunLog {
  readonly #err: Printer;
  readonly #quiet: boolean;

  constructor(err: Printer, verbosity: Verbosity) {
    super(err, verbosity);
    this.#err = err;
    this.#quiet = verbosity === 'quiet';
  }

  listening(url: string, memberId: string, store: string): void {
    this.#tell('cyan', `serves ${url} as "${memberId}" (${store})`);
  }

  leads(candidacy: string, election: string, term: bigint): void {
    this.#tell('green', `"${candidacy}" leads "${election}" in term ${term}`);
  }

  leadsNoMore(candidacy: string, election: string, term: bigint, reason: string): void {
    this.#tell('cyan', `"${candidacy}" leads "${election}" no more in term ${term}: ${reason}`);
  }

  health(healthy: boolean): void {
    if (healthy) this.#tell('green', 'the application is healthy: campaigns');
    else this.#err.line(this.#err.style('yellow', 'incumbent: the application is unhealthy: gives up the leadership'));
  }

  #tell(style: Style, text: string): void {
    if (!this.#quiet) this.#err.line(`${this.#err.style(style, 'incumbent:')} ${text}`);
  }
}
