/** What must hold of an election by best effort in every world, found out from outside. That two never believe is not among it: how often they do is counted. */

import type { AlgorithmState } from '../../src/index.ts';
import type { BestEffortMessage } from '../../src/best-effort/message.ts';
import type { Violation } from '../simulation/checks.ts';
import type { Run, Said, Watch } from '../simulation/seat.ts';
import type { Shape } from './plan.ts';

type Best = Run<'bestEffort'>;

export class Checks implements Watch<'bestEffort'> {
  readonly violations: Violation[] = [];
  readonly counts: Map<string, number> = new Map();
  readonly #shape: Shape;
  readonly #elected: { readonly id: string; readonly atMs: number }[] = [];
  /** When somebody said last that it leads. */
  readonly #said = new Map<string, number>();
  readonly #rounds = new Map<string, number>();

  constructor(shape: Shape) {
    this.#shape = shape;
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  fail(promise: string, atMs: number, what: string): void {
    if (this.violations.length < 20) this.violations.push({ promise, atMs, what });
  }

  electedSince(sinceMs: number): readonly string[] {
    return this.#elected.filter(({ atMs }) => atMs >= sinceMs).map(({ id }) => id);
  }

  sent(from: string, _to: string, said: Said, atMs: number): void {
    const message = said as BestEffortMessage;
    this.count(`sent ${message.type}`);
    if (message.type === 'heartbeat' || (message.type === 'elected' && message.leader === from)) this.#said.set(from, atMs);
  }

  stepped(_id: string, _state: AlgorithmState, _atMs: number): void {}

  elected(id: string, self: Best, all: readonly Best[], atMs: number): void {
    const { name, options, bystander } = this.#shape;
    if (id === bystander) this.fail('only who stands is elected', atMs, id);
    if (name === 'candidateOrdinary' && !options.candidates.includes(id)) this.fail('only candidates are elected', atMs, id);
    const round = Number(self.number.split(' ')[1]);
    if (round <= (this.#rounds.get(self.name) ?? 0)) this.fail("a member's rounds rise", atMs, `${self.name}: ${self.number}`);
    this.#rounds.set(self.name, round);
    this.#elected.push({ id, atMs });
    this.#said.set(id, atMs);
    this.believers(all, atMs);
  }

  /** Whoever has not said for a failure timeout that it leads does not believe it: it stood still. */
  believers(all: readonly Best[], atMs: number): void {
    const valid = all.filter((one) => one.awake && one.isValid());
    if (valid.length > 1) this.count('two believe');
    if (this.#shape.name === 'invitation') return;
    for (const { name, process } of valid) {
      const silentMs = atMs - (this.#said.get(process.id) ?? atMs);
      if (silentMs > this.#shape.options.failureTimeoutMs && this.#shape.members.length > 1)
        this.fail('who stood still does not believe', atMs, `${name} has been silent for ${silentMs} ms`);
    }
  }
}
