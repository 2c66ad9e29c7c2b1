/**
 * Checks the requests of operators. A leader obeys a request only in the term that the operator
 * named, and a leader that was asked to step down does so.
 */

import type { LeadershipView, RequestKind, WorldEvent } from '../world/event.ts';
import { Findings, type Checker } from './checker.ts';

/** What core logs when a leader has read a request for a handover. */
const HANDOVER_READ = 'an operator requests a handover';

export class RequestChecker implements Checker {
  readonly findings: Findings = new Findings();
  /** The requests that operators have sent, and those that are written unless the term is over. */
  readonly #sent = new Set<string>();
  readonly #written = new Set<string>();
  readonly #open = new Set<LeadershipView>();

  onEvent(event: WorldEvent, atMs: number): void {
    switch (event.type) {
      case 'requested':
        this.#sent.add(nameOf(event.request, event));
        return undefined;
      case 'requestWritten':
        this.#written.add(nameOf(event.request, event));
        return undefined;
      case 'elected':
        this.#open.add(event.handle);
        return undefined;
      case 'ended':
        this.#open.delete(event.handle);
        return event.reason === 'steppedDown' ? this.#obeyed('stepDown', event.handle, atMs) : undefined;
      case 'logged':
        if (event.message === HANDOVER_READ && event.term !== undefined) this.#obeyed('handover', event, atMs);
        return undefined;
      case 'phase':
        // By then every watch works again, and has shown the leader its entry.
        return event.phase === 'deposed' ? this.#checkAll(atMs) : undefined;
      default:
        return undefined;
    }
  }

  #obeyed(request: RequestKind, about: Pick<Extract<WorldEvent, { type: 'logged' }>, 'process' | 'election'> & TermOf, atMs: number): void {
    if (this.#sent.has(nameOf(request, about))) return;
    const what = `${about.process.name} obeys a request (${request}) in term ${about.term}, and nobody has sent it for that term`;
    this.findings.add('a request is obeyed only in its term', atMs, what);
  }

  #checkAll(atMs: number): void {
    for (const handle of this.#open) {
      const { process, term } = handle;
      if (process.state !== 'running' || !this.#written.has(nameOf('stepDown', handle)) || !handle.isValid()) continue;
      this.findings.add('who is asked to step down does', atMs, `${process.name} still leads in term ${term}`);
    }
  }
}

interface TermOf {
  readonly election?: string;
  readonly term?: bigint | string;
}

function nameOf(request: RequestKind, { election, term }: TermOf): string {
  return `${request}/${election}/${term}`;
}
