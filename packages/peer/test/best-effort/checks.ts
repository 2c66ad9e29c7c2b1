/**
 * What must hold in every world of a best-effort algorithm, checked from outside. Two leaders at
 * once are allowed; the checks only count how often that happens.
 */

import type { BestEffortMessage } from '../../src/best-effort/message.ts';
import { Checks, type Said } from '../simulation/checks.ts';
import type { Run } from '../simulation/run.ts';
import type { Shape } from './plan.ts';

type Best = Run<'bestEffort'>;

export class BestEffortChecks extends Checks<'bestEffort'> {
  readonly #shape: Shape;
  readonly #elected: { readonly id: string; readonly atMs: number }[] = [];
  /** When a member last announced that it leads. */
  readonly #said = new Map<string, number>();
  readonly #rounds = new Map<string, number>();

  constructor(shape: Shape) {
    super();
    this.#shape = shape;
  }

  electedSince(sinceMs: number): readonly string[] {
    return this.#elected.filter(({ atMs }) => atMs >= sinceMs).map(({ id }) => id);
  }

  override sent(from: string, to: string, said: Said, atMs: number, at: string | undefined): void {
    super.sent(from, to, said, atMs, at);
    const message = said as BestEffortMessage;
    if (message.type === 'heartbeat' || (message.type === 'elected' && message.leader === from)) this.#said.set(from, atMs);
  }

  override elected(id: string, self: Best, all: readonly Best[], atMs: number): void {
    const { name, options, bystanders } = this.#shape;
    if (bystanders.includes(id)) this.fail('only who stands is elected', atMs, id);
    if (name === 'candidateOrdinary' && !options.candidates.includes(id)) this.fail('only candidates are elected', atMs, id);
    const round = (self.view.state === 'leader' ? self.view.round : undefined) ?? 0;
    if (round <= (this.#rounds.get(self.name) ?? 0)) this.fail("a member's rounds rise", atMs, `${self.name}: ${round}`);
    this.#rounds.set(self.name, round);
    this.#elected.push({ id, atMs });
    this.#said.set(id, atMs);
    this.validLeaders(all, atMs);
  }

  /**
   * A leader that has sent no heartbeat for a failure timeout was paused, so its leadership must
   * not be valid.
   */
  override validLeaders(all: readonly Best[], atMs: number): void {
    const valid = all.filter((one) => one.awake && one.isValid());
    if (valid.length > 1) this.count('two valid leaders');
    if (this.#shape.name === 'invitation') return;
    for (const { name, process } of valid) {
      const silentMs = atMs - (this.#said.get(process.id) ?? atMs);
      if (silentMs > this.#shape.options.failureTimeoutMs && this.#shape.members.length > 1)
        this.fail('a process that stood still is not valid', atMs, `${name} has been silent for ${silentMs} ms`);
    }
  }
}
