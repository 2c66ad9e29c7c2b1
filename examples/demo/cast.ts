/** The three members, and everything that they have told. */

import { setTimeout as sleep } from 'node:timers/promises';
import { now } from './clock.ts';
import { toldOf, type Told } from './history.ts';
import { MemberProcess } from './member-process.ts';
import type { MemberEvent } from './messages.ts';

const LOOK_EVERY_MS = 5;

export interface CastOptions {
  /** The store's URL. */
  readonly url: string;
  readonly ttlMs: number;
  /** Ends every wait, with its reason. */
  readonly signal: AbortSignal;
}

interface Wait {
  readonly withinMs: number;
  /** Only what was told from this position on. */
  readonly since: number;
  readonly by?: MemberProcess;
}

export class Cast {
  readonly told: Told[] = [];
  /** Every process that was ever started; a member that was started again has two. */
  readonly lives: MemberProcess[] = [];
  readonly #options: CastOptions;

  constructor(options: CastOptions) {
    this.#options = options;
  }

  start(member: string): void {
    const { url, ttlMs } = this.#options;
    this.lives.push(new MemberProcess(member, { url, ttlMs, heard: (event) => this.told.push({ member, event }) }));
  }

  get alive(): readonly MemberProcess[] {
    return this.lives.filter(({ end }) => end === undefined);
  }

  /** The living process of a member. */
  running(member: string): MemberProcess {
    const found = this.alive.findLast((process) => process.member === member);
    if (found === undefined) throw new Error(`${member} is not running`);
    return found;
  }

  /** The first event of this type; undefined when it does not come in time. Throws when a member crashes meanwhile. */
  async hear<T extends MemberEvent['type']>(type: T, { withinMs, since, by }: Wait): Promise<Told<T> | undefined> {
    return this.until(() => toldOf(this.told.slice(since), type).find(({ member }) => by === undefined || by.member === member), withinMs);
  }

  /** Looks until the condition answers; undefined when it has not in time. Throws when a member crashes meanwhile. */
  async until<T>(condition: () => T | undefined | Promise<T | undefined>, withinMs: number): Promise<T | undefined> {
    const end = now() + withinMs;
    for (;;) {
      this.#checkLives();
      const answer = await condition();
      if (answer !== undefined || now() > end) return answer;
      await sleep(LOOK_EVERY_MS, undefined, { signal: this.#options.signal });
    }
  }

  /** Kills whoever lives: stopped processes, too. */
  async close(): Promise<void> {
    for (const process of this.alive) process.kill();
    await Promise.all(this.lives.map(({ closed }) => closed));
  }

  #checkLives(): void {
    const crash = this.lives.map((life) => life.crash).find((told) => told !== undefined);
    if (crash !== undefined) throw new Error(crash);
  }
}
