/** The messages of `serve` on standard error. */

import type { Printer, Style } from '../common/printer.ts';
import { toCliError } from '../exit.ts';
import { RunLog, type Verbosity } from '../run/log.ts';
import type { Candidacy, OverEvent } from './candidacy.ts';
import type { SidecarOptions } from './sidecar.ts';

/** Log messages of core that `serve` replaces by its own, which name the candidacy. */
const REPLACED = ['the work did not stop within the drain'];

export class ServeLog extends RunLog {
  readonly #err: Printer;
  readonly #quiet: boolean;

  constructor(err: Printer, verbosity: Verbosity) {
    super(err, verbosity, REPLACED);
    this.#err = err;
    this.#quiet = verbosity === 'quiet';
  }

  listening(url: string, memberId: string, store: string): void {
    this.#tell('cyan', `serves ${url} as "${memberId}" (${store})`);
  }

  /** The options of a sidecar by which it writes its messages here. */
  get sidecarOptions(): Partial<SidecarOptions> {
    return {
      logger: this.logger,
      publishFailed: ({ id }, error) => this.error(`the value of "${id}" is not published: ${toCliError(error).text}`),
      joinFailed: (group, why) => this.error(`cannot join the group "${group}": ${why}`),
      groupValueFailed: (group, why) => this.error(`the new value is not shown in the group "${group}": ${why}`),
      over: (candidacy, event) => this.#over(candidacy, event),
      elected: ({ id, election }, term) => this.#tell('green', `"${id}" leads "${election}" in term ${term}`),
      ended: ({ id, election, overReason: over }, term, reason) => {
        const why = over === undefined ? reason : `${reason}, because its candidacy is over (${over})`;
        this.#tell('cyan', `"${id}" leads "${election}" no more in term ${term}: ${why}`);
      },
      stuck: (candidacy, term) => this.#stuck(candidacy, term),
    };
  }

  health(healthy: boolean): void {
    if (healthy) this.#tell('green', 'the application is healthy: campaigns');
    else this.#warn('the application is unhealthy: gives up the leadership');
  }

  /**
   * Tells that the client is gone, or that it cannot campaign. Other ends are asked for. If the
   * sidecar's own campaign has failed, the command ends with that error.
   */
  #over({ id, election, isOwn }: Candidacy, { reason, message = '' }: OverEvent): void {
    if (reason === 'failed' && isOwn) return;
    if (reason === 'failed') this.error(`"${id}" cannot campaign for "${election}": ${message}`);
    else if (reason === 'expired' || reason === 'disconnected')
      this.#tell('yellow', `the candidacy "${id}" of "${election}" is over: ${message}`);
  }

  #stuck({ id, election, isOver }: Candidacy, term: bigint): void {
    const next = isOver ? '' : `. "${id}" does not lead again before its client sends POST …/acknowledge`;
    this.#warn(
      `"${id}" has not acknowledged within the drain that its work for "${election}" in term ${term} has stopped: ` +
        `another process may lead meanwhile${next}`,
    );
  }

  #warn(text: string): void {
    this.#err.line(`${this.#err.style('yellow', 'incumbent:')} ${text}`);
  }

  #tell(style: Style, text: string): void {
    if (!this.#quiet) this.#err.line(`${this.#err.style(style, 'incumbent:')} ${text}`);
  }
}
