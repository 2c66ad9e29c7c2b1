/** `incumbent ui` in this process, on a store in memory, with members that lead and wait. */

import { type Cancel, type Clock, Member, type Leadership, type Store, systemClock } from '@incumbent/core';
import { openMemory, type MemoryStore } from '@incumbent/memory';

import { ApiServer, type ApiServerOptions } from '../../src/serve/http/server.ts';
import { UiModel } from '../../src/ui/model.ts';
import { Operator } from '../../src/ui/operate.ts';
import { uiRoutes } from '../../src/ui/routes.ts';
import { uiServer } from '../../src/ui/ui.ts';

/** So long that no lease ends on a busy machine: leaders go when a test closes them. */
const TTL_MS = 600_000;

let names = 0;

/** The clock of the machine, which a test sets forward: what it has shown then lies in the past. */
export class ShiftedClock implements Clock {
  #shiftMs: number;

  constructor(shiftMs: number) {
    this.#shiftMs = shiftMs;
  }

  pass(ms: number): void {
    this.#shiftMs += ms;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#shiftMs;
  }

  wall(): number {
    return systemClock.wall() + this.#shiftMs;
  }

  schedule(delayMs: number, task: () => void): Cancel {
    return systemClock.schedule(delayMs, task);
  }

  keepAlive(): Cancel {
    return systemClock.keepAlive();
  }
}

export interface UiPageOptions {
  readonly operate?: boolean;
  readonly server?: Partial<ApiServerOptions>;
  /** The URL that the page shows. */
  readonly shownUrl?: string;
  readonly clock?: Clock;
  /** Called before the page begins to watch. Elections of later are found some seconds later. */
  readonly prepare?: (page: UiPage) => Promise<unknown>;
}

export class UiPage implements AsyncDisposable {
  readonly name: string;
  readonly store: MemoryStore;
  readonly operated: string[] = [];
  readonly failures: unknown[] = [];
  readonly #options: UiPageOptions;
  readonly #members = new Map<string, { readonly member: Member; readonly store: Store }>();
  #model: UiModel | undefined;
  #server: ApiServer | undefined;

  private constructor(name: string, store: MemoryStore, options: UiPageOptions) {
    this.name = name;
    this.store = store;
    this.#options = options;
  }

  static async open(options: UiPageOptions = {}): Promise<UiPage> {
    const name = `memory:ui-${(names += 1)}`;
    const page = new UiPage(name, await openMemory(name), options);
    await options.prepare?.(page);
    page.#begin();
    await page.listen();
    return page;
  }

  get model(): UiModel {
    if (this.#model === undefined) throw new TypeError('the page does not watch yet');
    return this.#model;
  }

  #begin(): void {
    const { operate = false, shownUrl = this.name, clock } = this.#options;
    this.#model = new UiModel(this.store, { url: shownUrl, version: '0.1.0', operate, ...(clock === undefined ? {} : { clock }) });
  }

  get url(): string {
    return this.#server?.url ?? '';
  }

  /** Begins to listen, or does so again after `stopListening`, at the same port. */
  async listen(port = 0): Promise<void> {
    const { operate = false, server } = this.#options;
    const operator = operate ? { operator: new Operator(this.store), operated: (text: string) => void this.operated.push(text) } : {};
    this.#server = await ApiServer.start(
      uiServer({
        address: { host: '127.0.0.1', port },
        access: { isLocal: true },
        routes: uiRoutes({ model: this.model, ...operator }),
        failed: (error) => void this.failures.push(error),
        ...server,
      }),
    );
  }

  /** As if the process had ended. Resolves with the port. */
  async stopListening(): Promise<number> {
    const port = Number(new URL(this.url).port);
    await this.#server?.close();
    return port;
  }

  async member(memberId: string): Promise<Member> {
    const known = this.#members.get(memberId);
    if (known !== undefined) return known.member;
    const store = await openMemory(this.name);
    const member = new Member(store, { memberId, ttlMs: TTL_MS });
    this.#members.set(memberId, { member, store });
    return member;
  }

  /** Leads, and gives the leadership up when it is asked to. */
  async leads(memberId: string, election: string, value?: unknown): Promise<Leadership> {
    return (await this.member(memberId)).election(election, { value }).campaign();
  }

  /** Campaigns until the member is closed, again after each term. */
  async campaigns(memberId: string, election: string, value?: unknown): Promise<void> {
    const own = (await this.member(memberId)).election(election, { value });
    own.lead(async (leadership) => leadership.ended).catch(() => {});
    while (!(await own.candidates()).some((candidate) => candidate.memberId === memberId)) await new Promise(setImmediate);
  }

  async joins(memberId: string, group: string, value?: unknown): Promise<void> {
    await (await this.member(memberId)).group(group, { value }).join();
  }

  /** Writes records of elections that a member leads, without the members. */
  async seed(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      const root = `elections/election-${index}`;
      const record = { v: 1, term: '1', memberId: `web-${index % 7}`, incarnation: 'seeded', entry: `${root}/candidates/seeded` };
      const put = new TextEncoder().encode(JSON.stringify(record));
      await this.store.compareAndSwap(['leader', 'term'].map((key) => ({ key: `${root}/${key}`, expect: null, put })));
    }
  }

  /** Replaces the leader's record of an election by something of another program. */
  async spoil(election: string): Promise<void> {
    const key = `elections/${election}/leader`;
    const there = await this.store.read(key);
    await this.store.compareAndSwap([{ key, expect: there?.revision ?? null, put: new TextEncoder().encode('of another program') }]);
  }

  async closeMember(memberId: string): Promise<void> {
    const known = this.#members.get(memberId);
    this.#members.delete(memberId);
    await known?.member.close();
    await known?.store.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.close();
    await this.#model?.close();
    for (const memberId of [...this.#members.keys()]) await this.closeMember(memberId);
    await this.store.close();
  }
}
