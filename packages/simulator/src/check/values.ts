/** A publish that has been confirmed is in the store, and a leadership that met a newer term is followed by one that is newer still. */

import type { Body, WorldEvent } from '../world/event.ts';
import { Findings, type Checker, type Violation } from './checker.ts';

export class ValueChecker implements Checker {
  readonly #findings = new Findings();
  #record: { readonly term: bigint; readonly value: unknown } | undefined;
  readonly #met = new Map<Body, bigint>();

  get violations(): readonly Violation[] {
    return this.#findings.all;
  }

  see(event: WorldEvent, atMs: number): void {
    switch (event.type) {
      case 'record':
        this.#record = event.term === undefined ? undefined : { term: event.term, value: event.value };
        return undefined;
      case 'published':
        return this.#published(event, atMs);
      case 'ended':
        if (event.seenTerm !== undefined) this.#met.set(event.handle.body, event.seenTerm);
        return undefined;
      case 'elected':
        return this.#elected(event.handle.body, event.handle.term, atMs);
      default:
        return undefined;
    }
  }

  /** Its record may have gone since, or be another's. */
  #published({ body, term, value }: Extract<WorldEvent, { type: 'published' }>, atMs: number): void {
    if (this.#record?.term !== term) return;
    const [is, was] = [JSON.stringify(this.#record.value), JSON.stringify(value)];
    if (is !== was) this.#findings.add('what is published is there', atMs, `${body.name} has published ${was}; the record has ${is}`);
  }

  #elected(body: Body, term: bigint, atMs: number): void {
    const met = this.#met.get(body) ?? 0n;
    if (term <= met)
      this.#findings.add('terms pass what a fence has seen', atMs, `${body.name} leads in term ${term}, and has met term ${met}`);
  }
}
