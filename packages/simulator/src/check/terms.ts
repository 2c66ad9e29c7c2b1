/** Terms strictly rise, each is one process's, and no write that must carry the newest term is accepted with an older one. */

import type { Handle, WorldEvent } from '../world/event.ts';
import { Findings, type Checker, type Violation } from './checker.ts';

export class TermChecker implements Checker {
  readonly #findings = new Findings();
  readonly #newest = new Map<string, bigint>();
  readonly #holders = new Map<string, string>();
  readonly #taken = new Map<string, Handle>();
  readonly #writes: string | undefined;
  #fenced = 0n;

  /** `writes`: the election whose leaders write under guard; any, if left out. */
  constructor(writes?: string) {
    this.#writes = writes;
  }

  get violations(): readonly Violation[] {
    return this.#findings.all;
  }

  see(event: WorldEvent, atMs: number): void {
    switch (event.type) {
      case 'issued':
        return this.#issued(event, atMs);
      case 'elected':
        return this.#elected(event.handle, atMs);
      case 'wrote':
        return this.#wrote(event, atMs);
      default:
        return undefined;
    }
  }

  #issued({ election, term, memberId }: Extract<WorldEvent, { type: 'issued' }>, atMs: number): void {
    const before = this.#newest.get(election) ?? 0n;
    if (term <= before) this.#findings.add('terms rise', atMs, `${memberId} was issued term ${term} after term ${before}`);
    this.#newest.set(election, term > before ? term : before);
    this.#holders.set(`${election}/${term}`, memberId);
  }

  #elected(handle: Handle, atMs: number): void {
    const name = `${handle.election}/${handle.term}`;
    const memberId = this.#holders.get(name);
    if (memberId === undefined || !handle.body.name.startsWith(`${memberId}#`)) {
      this.#findings.add('terms rise', atMs, `${handle.body.name} leads in term ${handle.term}, which is ${memberId ?? "nobody's"}`);
    }
    const other = this.#taken.get(name);
    if (other !== undefined)
      this.#findings.add('terms rise', atMs, `${handle.body.name} and ${other.body.name} lead in term ${handle.term}`);
    this.#taken.set(name, handle);
  }

  #wrote({ to, term }: Extract<WorldEvent, { type: 'wrote' }>, atMs: number): void {
    const newest = to === 'fenced' ? this.#fenced : this.#newestOf(this.#writes);
    if (to !== 'unguarded' && term < newest)
      this.#findings.add('stale writes are refused', atMs, `${to}: term ${term} after term ${newest}`);
    if (to === 'fenced' && term > this.#fenced) this.#fenced = term;
  }

  #newestOf(election: string | undefined): bigint {
    if (election !== undefined) return this.#newest.get(election) ?? 0n;
    return [...this.#newest.values()].reduce((a, b) => (a > b ? a : b), 0n);
  }
}
