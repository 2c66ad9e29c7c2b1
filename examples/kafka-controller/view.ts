/**
 * Serves the page and its data. Every broker serves its own state as server-sent events; the page
 * reads all of them.
 */

import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { Cancel, ElectionView } from 'incumbent';
import type { Broker } from './broker.ts';
import { type ClusterView, type PageRequest, pageRequestShape, type ReignView } from './commands.ts';
import type { BrokerEventBody, Refusal } from './events.ts';
import type { Faults } from './faults.ts';
import type { Address } from './keys.ts';
import { type Handler, type Routes, Unavailable } from './wire.ts';

const LOOK_EVERY_MS = 200;
/**
 * How often the page gets the state, changed or not, in ms. The page shows a silent broker as
 * paused.
 */
const BEAT_MS = 1_000;
const ASK_FOR_THE_QUEUE_EVERY_MS = 1_000;
/** How many past events the page gets. */
const TERMS = 30;
const REFUSALS = 30;

const files = {
  '/': ['index.html', 'text/html'],
  '/page.css': ['page.css', 'text/css'],
  '/page.js': ['page.js', 'text/javascript'],
  '/terms.js': ['terms.js', 'text/javascript'],
  '/dom.js': ['dom.js', 'text/javascript'],
} as const;

export class View {
  /** The state from the parent process. */
  cluster: ClusterView | undefined;
  readonly #ask: ((request: PageRequest) => void) | undefined;
  readonly #pages = new Set<ServerResponse>();
  readonly #refusals: (Refusal & { readonly at: number })[] = [];
  readonly #refused = { store: 0, broker: 0, replica: 0 };
  /** Each at the time at which this broker learned of it. */
  readonly #reigns: ReignView[] = [];
  readonly #stops: Cancel[] = [];
  #queue: readonly string[] = [];
  #shown = '';
  #shownAt = 0;

  /** @param ask Passes on the command of a button; undefined without a parent process. */
  constructor(ask: ((request: PageRequest) => void) | undefined) {
    this.#ask = ask;
  }

  show(told: BrokerEventBody): void {
    if (told.type !== 'refused') return;
    this.#refused[told.by] += 1;
    this.#refusals.push({ ...told, at: Date.now() });
    this.#refusals.splice(0, this.#refusals.length - REFUSALS);
  }

  routes(broker: Broker, faults: Faults): Routes {
    this.#stops.push(broker.observer.subscribe((view) => this.#see(view)));
    this.#every(LOOK_EVERY_MS, () => this.#show(broker, faults));
    this.#every(ASK_FOR_THE_QUEUE_EVERY_MS, () => void this.#askForTheQueue(broker));
    const pages = Object.entries(files).map(([path, [file, type]]): [string, Handler] => [`GET ${path}`, sendFile(file, type)]);
    return {
      ...Object.fromEntries(pages),
      'GET /events': (_body, { response }) => this.#join(response),
      'POST /do': (body) => this.#do(pageRequestShape(body)),
    };
  }

  close(): void {
    for (const stop of this.#stops) stop();
    for (const page of this.#pages) page.end();
  }

  #every(ms: number, task: () => void): void {
    const timer = setInterval(task, ms);
    this.#stops.push(() => clearInterval(timer));
  }

  #do(request: PageRequest): void {
    if (this.#ask === undefined) throw new Unavailable('nobody here can do that: this broker was started by hand');
    this.#ask(request);
  }

  #join(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    if (this.#shown !== '') response.write(event(this.#shown));
    this.#pages.add(response);
    response.on('close', () => this.#pages.delete(response));
  }

  #see(view: ElectionView<Address>): void {
    if (view.state === 'unknown') return;
    const broker = view.state === 'leader' ? view.memberId : null;
    const last = this.#reigns.at(-1);
    if (last?.term === view.term && last?.broker === broker) return;
    this.#reigns.push({ at: Date.now(), term: view.term, broker, reason: view.reason });
    this.#reigns.splice(0, this.#reigns.length - TERMS);
  }

  /** Reads the queue on demand, so that a page that nobody opens has no cost. */
  async #askForTheQueue({ election }: Broker): Promise<void> {
    if (this.#pages.size === 0) return;
    const candidates = await election.candidates().catch(() => undefined);
    this.#queue = candidates?.filter(({ leads }) => !leads).map(({ memberId }) => memberId) ?? this.#queue;
  }

  #show(broker: Broker, faults: Faults): void {
    if (this.#pages.size === 0) return;
    const shown = JSON.stringify(this.#state(broker, faults), (_name, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    const now = performance.now();
    if (shown === this.#shown && now - this.#shownAt < BEAT_MS) return;
    this.#shown = shown;
    this.#shownAt = now;
    for (const page of this.#pages) page.write(event(shown));
  }

  #state(broker: Broker, faults: Faults): object {
    const { current } = broker.observer;
    const replicas = [...broker.replicas].map(([name, { leads, epoch, end, committed }]) => ({ name, leads, epoch, end, committed }));
    return {
      id: broker.id,
      url: broker.url,
      controller: current.state === 'leader' ? { broker: current.memberId, term: current.term } : { state: current.state },
      term: broker.election.leadership?.term ?? null,
      queue: this.#queue,
      partitions: Object.fromEntries(broker.partitions),
      replicas,
      cutOff: faults.isCutOff,
      reigns: this.#reigns,
      refusals: this.#refusals,
      refused: this.#refused,
      cluster: this.cluster ?? null,
    };
  }
}

function event(data: string): string {
  return `data: ${data}\n\n`;
}

function sendFile(file: string, type: string): Handler {
  const content = readFileSync(new URL(`page/${file}`, import.meta.url));
  return (_body, { response }) => void response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(content);
}
