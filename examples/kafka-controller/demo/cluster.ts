/** The brokers' processes, and everything that they have reported. */

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command, PageRequest, Report } from '../commands.ts';
import { type BrokerEvent, now } from '../events.ts';
import type { Partition } from '../partitions.ts';
import { BrokerProcess } from './broker-process.ts';
import type { Heard, Pause, ValidSpan } from './history.ts';

const LOOK_EVERY_MS = 5;

export interface ClusterOptions {
  /** The store's URL. */
  readonly url: string;
  readonly ttlMs: number;
  /**
   * The parent folder of the brokers' messages. Each broker has a folder, which outlives its
   * processes.
   */
  readonly folder: string;
  /** Ends every wait, with its reason. */
  readonly signal: AbortSignal;
}

export class Cluster {
  readonly heard: Heard[] = [];
  /** Every process that was ever started. A broker that was restarted has several. */
  readonly lives: BrokerProcess[] = [];
  readonly options: ClusterOptions;
  /** Each broker's address, kept over its restarts if possible. */
  readonly urls = new Map<string, string>();
  /** Called with the requests of the page. */
  asked: (request: PageRequest) => void = () => {};
  readonly #validSpans = new Map<string, ValidSpan>();

  constructor(options: ClusterOptions) {
    this.options = options;
  }

  start(broker: string): BrokerProcess {
    const { url, ttlMs, folder } = this.options;
    const process = new BrokerProcess(broker, {
      url,
      ttlMs,
      folder: join(folder, broker),
      port: Number(new URL(this.urls.get(broker) ?? 'http://127.0.0.1:0').port),
      heard: (report) => this.#onReport(broker, report),
    });
    this.lives.push(process);
    return process;
  }

  get alive(): readonly BrokerProcess[] {
    return this.lives.filter(({ end }) => end === undefined);
  }

  /** When brokers stood still. */
  get pauses(): readonly Pause[] {
    return this.lives.flatMap(({ pauses }) => pauses);
  }

  get validSpans(): readonly ValidSpan[] {
    return [...this.#validSpans.values()].toSorted((a, b) => a.from - b.from);
  }

  /** The living process of a broker. */
  running(broker: string): BrokerProcess {
    const found = this.alive.findLast((process) => process.broker === broker);
    if (found === undefined) throw new Error(`${broker} is not running`);
    return found;
  }

  /**
   * Sends a command to a broker and waits until it is done. Throws if that takes too long or a
   * broker crashes.
   */
  async order(broker: string, command: Command, withinMs: number): Promise<void> {
    let isDone = false;
    void this.running(broker)
      .command(command)
      .then(() => (isDone = true));
    if ((await this.until(() => isDone || undefined, withinMs)) === undefined)
      throw new Error(`${broker} has not done ${command.type} within ${withinMs} ms`);
  }

  /**
   * The first event of this type at or after a position; undefined if it does not come in time.
   * Throws if a broker crashes.
   */
  async waitForEvent<T extends BrokerEvent['type']>(
    type: T,
    { withinMs, since, by }: { readonly withinMs: number; readonly since: number; readonly by?: string },
  ): Promise<Heard<T> | undefined> {
    return this.until(() => heardOf(this.heard.slice(since), type).find(({ broker }) => by === undefined || by === broker), withinMs);
  }

  /**
   * Polls until the condition returns a value; undefined if it does not in time. Throws if a broker
   * crashes.
   */
  async until<T>(
    condition: () => T | undefined | Promise<T | undefined>,
    withinMs: number,
    everyMs = LOOK_EVERY_MS,
  ): Promise<T | undefined> {
    const end = now() + withinMs;
    for (;;) {
      this.#checkLives();
      const answer = await condition();
      if (answer !== undefined || now() > end) return answer;
      await sleep(everyMs, undefined, { signal: this.options.signal });
    }
  }

  /**
   * Whether these partitions have a leader other than this broker, which has reported so, and every
   * other broker knows the current controller and therefore rejects older ones.
   */
  isLedBy({ than }: { readonly than: string }, partitions: ReadonlyMap<string, Partition>): boolean {
    const led = heardOf(this.heard, 'leads');
    const isTold = ([name, { leader, leaderEpoch }]: readonly [string, Partition]): boolean =>
      leader !== than && led.some(({ broker, event }) => broker === leader && event.partition === name && event.epoch === leaderEpoch);
    const term = heardOf(this.heard, 'elected').at(-1)?.event.term;
    const others = this.alive.filter(({ broker, isPaused }) => broker !== than && !isPaused);
    const knows = (id: string): boolean => heardOf(this.heard, 'heard').some(({ broker, event }) => broker === id && event.term === term);
    return [...partitions].every(isTold) && others.every(({ broker }) => knows(broker));
  }

  /** Kills all live processes, stopped ones included. */
  async close(): Promise<void> {
    for (const process of this.alive) process.kill();
    await Promise.all(this.lives.map(({ closed }) => closed));
  }

  #onReport(broker: string, report: Report): void {
    if (report.type === 'event') this.heard.push({ broker, event: report.event });
    else if (report.type === 'ready') this.urls.set(broker, report.url);
    else if (report.type === 'asked') this.asked(report.request);
    // A broker reports each span repeatedly. The last report counts.
    else if (report.type === 'valid') this.#validSpans.set(`${broker} ${report.term} ${report.from}`, { broker, ...report });
  }

  #checkLives(): void {
    const crash = this.lives.map((life) => life.crash).find((told) => told !== undefined);
    if (crash !== undefined) throw new Error(crash);
  }
}

export function heardOf<T extends BrokerEvent['type']>(heard: readonly Heard[], type: T): readonly Heard<T>[] {
  return heard.flatMap(({ broker, event }) => (isOf(event, type) ? [{ broker, event }] : []));
}

function isOf<T extends BrokerEvent['type']>(event: BrokerEvent, type: T): event is Extract<BrokerEvent, { type: T }> {
  return event.type === type;
}
