/** Three clients in different languages, each at its own sidecar, and the faults of a round. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Language, until } from '@incumbent/test-support';
import { ElectionObserver, openStore, type Store } from 'incumbent';

import { checkActs, ELECTION, lateActs, type ServeProcess, ServeClient, spansOf, startServe } from './serve-clients.ts';

export const LANGUAGES: readonly Language[] = ['python', 'go', 'shell'];
export const FAULTS = ['clientKilled', 'clientStopped', 'sidecarKilled', 'sidecarStopped', 'storeCut'] as const;
export type ServeFault = (typeof FAULTS)[number];

const TTL_MS = 4_000;
const WAIT_MS = 60_000;
/** A client that leads acts every 10 ms or so. */
const ACTS_WITHIN_MS = 250;

/** The way of one sidecar to the store. */
export interface StoreLink extends AsyncDisposable {
  /** The URL of the store for the sidecar. */
  readonly url: string;
  /** From now on the sidecar cannot use the store. */
  cut(random: () => number): Promise<void>;
  heal(): Promise<void>;
}

/** The store of a crew. */
export interface CrewStore {
  /** The URL of the store for this process. */
  readonly url: string;
  /** Whether a cut of one link cuts all of them. */
  readonly cutsAll: boolean;
  link(): Promise<StoreLink>;
}

/** A sidecar and its client. Both are replaced when they are killed. */
interface Slot {
  readonly language: Language;
  readonly link: StoreLink;
  sidecar: ServeProcess;
  client: ServeClient;
}

export class ServeCrew implements AsyncDisposable {
  readonly #store: Store;
  readonly #cutsAll: boolean;
  readonly #slots: Slot[] = [];
  /** All clients that there have been. */
  readonly #clients: ServeClient[] = [];
  /** When this process first saw a leader of a term in the store, in ns. */
  readonly #seenNs = new Map<bigint, bigint>();
  readonly #observer: ElectionObserver;

  static async open({ url, cutsAll, link }: CrewStore): Promise<ServeCrew> {
    const crew = new ServeCrew(await openStore(url), cutsAll);
    try {
      for (const language of LANGUAGES) await crew.#add(language, await link());
      return crew;
    } catch (error) {
      await crew[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(store: Store, cutsAll: boolean) {
    this.#store = store;
    this.#cutsAll = cutsAll;
    this.#observer = new ElectionObserver(store, ELECTION);
    this.#observer.subscribe((view) => {
      if (view.state === 'leader' && !this.#seenNs.has(view.term)) this.#seenNs.set(view.term, process.hrtime.bigint());
    });
  }

  /**
   * A fault at the client that leads, or at its sidecar. Then another client leads, and all is
   * healed.
   */
  async round(fault: ServeFault, random: () => number): Promise<void> {
    await this.#settled();
    await sleep(300 + random() * 1_200);
    const slot = await this.#leader();
    const { term } = slot.client;
    await this.#inject(fault, slot, random);
    const others = this.#slots.filter((each) => fault === 'storeCut' || each !== slot);
    const leads = (): boolean => others.some(({ client }) => client.term > term);
    await until(leads, { what: `another client leads after ${fault} in term ${term}`, withinMs: WAIT_MS });
    // What was stopped goes on while another client works.
    await sleep(random() * 500);
    await this.#heal(fault, slot);
  }

  /** Checks all acts. Call it when the rounds are over. */
  async check(): Promise<Readonly<Record<string, number>>> {
    await this.#settled();
    await this.#leader();
    const marginMs = checkActs(this.#clients);
    assert.ok(Number.isFinite(marginMs), 'there was one term only');
    const spans = spansOf(this.#clients);
    return { terms: spans.length, marginMs, seenMarginMs: this.#checkSeen(), lateActs: lateActs(this.#clients) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map((client) => client[Symbol.asyncDispose]()));
    await Promise.all(this.#slots.map(({ sidecar }) => sidecar[Symbol.asyncDispose]()));
    await Promise.all(this.#slots.map(({ link }) => link[Symbol.asyncDispose]()));
    await this.#observer.close();
    await this.#store.close();
  }

  async #add(language: Language, link: StoreLink): Promise<void> {
    const sidecar = await startServe(link.url, `at-${language}`, { options: ['--ttl', `${TTL_MS}ms`] });
    const client = await this.#newClient(language, sidecar);
    this.#slots.push({ language, link, sidecar, client });
  }

  async #newClient(language: Language, { url }: ServeProcess): Promise<ServeClient> {
    // A candidacy of the killed client may not be over yet, so the new one has another id.
    const client = await ServeClient.start(language, url, `${language}-${this.#clients.length + 1}`);
    this.#clients.push(client);
    return client;
  }

  /** Resolves when each sidecar is in the queue of the store. */
  async #settled(): Promise<void> {
    const queued = async (): Promise<boolean> => {
      const entries = await this.#store.list(`elections/${ELECTION}/candidates`, { timeoutMs: 2_000, values: false });
      return LANGUAGES.every((language) => entries.some(({ name }) => name.startsWith(`at-${language}~`)));
    };
    await until(queued, { what: 'all sidecars campaign', withinMs: WAIT_MS, everyMs: 100 });
  }

  /** The client that acts. */
  async #leader(): Promise<Slot> {
    const find = (): Slot | undefined => this.#slots.find(({ client }) => client.actedWithin(ACTS_WITHIN_MS));
    return until(find, { what: 'a client acts', withinMs: WAIT_MS, everyMs: 5 });
  }

  async #inject(fault: ServeFault, { client, sidecar, link }: Slot, random: () => number): Promise<void> {
    if (fault === 'clientKilled') client.signal('SIGKILL');
    else if (fault === 'clientStopped') client.signal('SIGSTOP');
    else if (fault === 'sidecarKilled') sidecar.process.sigkill();
    else if (fault === 'sidecarStopped') sidecar.process.sigstop();
    else await this.#cut(link, random);
  }

  async #cut(link: StoreLink, random: () => number): Promise<void> {
    await link.cut(random);
    if (!this.#cutsAll) return;
    // Nobody can lead meanwhile, so the store is cut until the lease is over.
    await sleep(TTL_MS + 500 + random() * 1_000);
    await link.heal();
  }

  async #heal(fault: ServeFault, slot: Slot): Promise<void> {
    const { language, client, link } = slot;
    if (fault === 'clientKilled') slot.client = await this.#newClient(language, slot.sidecar);
    else if (fault === 'clientStopped') client.signal('SIGCONT');
    else if (fault === 'sidecarStopped') slot.sidecar.process.sigcont();
    else if (fault === 'storeCut') await link.heal();
    else {
      await slot.sidecar.process.exited;
      const port = Number(new URL(slot.sidecar.url).port);
      slot.sidecar = await startServe(link.url, `at-${language}`, { port, options: ['--ttl', `${TTL_MS}ms`] });
    }
  }

  /**
   * Checks that no client has acted after the store named the leader of a later term, as this
   * process has seen it. Returns the shortest time between the two, in ms.
   */
  #checkSeen(): number {
    const spans = spansOf(this.#clients);
    let marginMs = Infinity;
    for (const { term, client, toNs } of spans) {
      const later = [...this.#seenNs].filter(([seen]) => seen > term).map(([, atNs]) => Number(atNs - toNs) / 1e6);
      const betweenMs = Math.min(...later);
      assert.ok(betweenMs > 0, `${client} acted in term ${term} for ${-betweenMs} ms after the store had a leader of a later term`);
      marginMs = Math.min(marginMs, betweenMs);
    }
    return marginMs;
  }
}
