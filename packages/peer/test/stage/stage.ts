/**
 * Members of a best-effort algorithm on the production driver, over a network that has only the
 * faults that the caller asks for. Records all messages.
 */

import { Driver } from '../../src/driver.ts';
import type { BestEffortAlgorithm, BestEffortMessage } from '../../src/index.ts';
import { StageTime } from './time.ts';

export type StageLine =
  | { readonly atMs: number; readonly type: 'said'; readonly from: string; readonly to: string; readonly message: BestEffortMessage }
  | { readonly atMs: number; readonly type: 'leads'; readonly id: string; readonly round: number }
  | { readonly atMs: number; readonly type: 'ended'; readonly id: string; readonly reason: string };

export class Stage {
  readonly algorithm: BestEffortAlgorithm;
  readonly time = new StageTime();
  readonly lines: StageLine[] = [];
  readonly #latencyMs: number;
  readonly #drivers = new Map<string, Driver<'bestEffort'>>();
  #lost: (from: string, to: string) => boolean = () => false;
  #starts = 0;

  constructor(algorithm: BestEffortAlgorithm, latencyMs: number) {
    this.algorithm = algorithm;
    this.#latencyMs = latencyMs;
  }

  get nowMs(): number {
    return this.time.monotonic();
  }

  get up(): readonly string[] {
    return this.algorithm.members.filter((id) => this.#drivers.has(id));
  }

  get leaders(): readonly string[] {
    return this.up.filter((id) => this.#driver(id).isValid());
  }

  /** The leader that a member sees. */
  sees(id: string): string | undefined {
    const view = this.algorithm.view(this.#driver(id).state as never);
    return view.state === 'leader' ? view.memberId : undefined;
  }

  /** Whether exactly one of these members leads and all of them see it. */
  agree(ids: readonly string[]): boolean {
    const leaders = this.leaders.filter((id) => ids.includes(id));
    return leaders.length === 1 && ids.every((id) => this.sees(id) === leaders[0]);
  }

  /** The member campaigns, and again after each leadership. */
  start(id: string): void {
    const { algorithm, time } = this;
    this.#starts += 1;
    const now = { monotonicMs: this.nowMs, wallMs: this.nowMs };
    const first = algorithm.start({ memberId: id, now, seed: this.#starts * 0x9e37_79b1, durable: undefined });
    const driver: Driver<'bestEffort'> = new Driver(algorithm, first, {
      clock: time,
      position: () => ({ lastTerm: 0n, lastIndex: 0n }),
      send: (to, message) => this.#send(id, to, message as BestEffortMessage),
      persist: (_, done) => done({ ok: true }),
      elected: ({ round }) => void this.lines.push({ atMs: this.nowMs, type: 'leads', id, round }),
      ended: (reason) => {
        this.lines.push({ atMs: this.nowMs, type: 'ended', id, reason });
        time.schedule(1, () => driver.command({ type: 'release', to: undefined }));
        time.schedule(2, () => driver.command({ type: 'campaign' }));
      },
      viewed: () => {},
      membership: () => {},
      conflict: () => {},
      failed: () => {},
    });
    this.#drivers.set(id, driver);
    driver.command({ type: 'campaign' });
  }

  crash(id: string): void {
    this.#driver(id).stop();
    this.#drivers.delete(id);
  }

  resign(id: string): void {
    this.#driver(id).end('resigned');
  }

  /** Delivers a message that no member has sent. */
  hears(id: string, from: string, message: BestEffortMessage): void {
    this.#driver(id).receive(from, message);
  }

  /** Sets which messages are lost from now on. */
  lose(lost: (from: string, to: string) => boolean): void {
    this.#lost = lost;
  }

  heal(): void {
    this.#lost = () => false;
  }

  pass(ms: number): void {
    const untilMs = this.nowMs + ms;
    while (this.time.step(untilMs));
  }

  /** Waits until this is so. Throws if it takes longer than the limit. */
  until(isSo: () => boolean, withinMs: number): void {
    const untilMs = this.nowMs + withinMs;
    while (!isSo()) if (!this.time.step(untilMs)) throw new Error(`not after ${withinMs} ms`);
  }

  #driver(id: string): Driver<'bestEffort'> {
    const driver = this.#drivers.get(id);
    if (driver === undefined) throw new RangeError(`${id} is not up`);
    return driver;
  }

  #send(from: string, to: string, message: BestEffortMessage): void {
    this.lines.push({ atMs: this.nowMs, type: 'said', from, to, message });
    if (this.#lost(from, to)) return;
    this.time.schedule(this.#latencyMs, () => this.#drivers.get(to)?.receive(from, this.algorithm.readMessage(message)));
  }
}
