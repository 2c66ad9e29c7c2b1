/** Runs the command in this process, on a store in memory, and records its output. */

import { Member, type Leadership, type Store } from '@incumbent/core';
import { openMemory } from '@incumbent/memory';

import { Printer, runCli } from '../../src/index.ts';
import type { CliContext } from '../../src/context.ts';

class OutputBuffer {
  text = '';
  isTTY = false;
  columns = 100;
  /** After how many lines the reader closes the pipe. */
  maxLines = Infinity;
  #onError = (_error: Error): void => {};

  write(text: string): boolean {
    this.text += text;
    if (this.text.split('\n').length > this.maxLines) this.#onError(Object.assign(new Error('EPIPE'), { code: 'EPIPE' }));
    return true;
  }

  on(_event: 'error', listener: (error: Error) => void): void {
    this.#onError = listener;
  }
}

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface RunOptions {
  readonly tty?: boolean;
  readonly env?: Record<string, string>;
  readonly open?: (url: string) => Promise<Store>;
  /** The reader of standard output closes the pipe after so many lines. Default: never. */
  readonly maxLines?: number;
}

let names = 0;

export class TestConsole implements AsyncDisposable {
  readonly name = `cli-${(names += 1)}`;
  readonly #members: Member[] = [];
  readonly #stores: Store[] = [];

  async run(args: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
    const [out, err] = [new OutputBuffer(), new OutputBuffer()];
    out.maxLines = options.maxLines ?? Infinity;
    const code = await runCli(args, this.context(options, out, err));
    return { code, out: out.text, err: err.text };
  }

  context({ tty = false, env = {}, open = openMemory }: RunOptions = {}, out = new OutputBuffer(), err = new OutputBuffer()): CliContext {
    out.isTTY = err.isTTY = tty;
    const all = { INCUMBENT_STORE: `memory:${this.name}`, ...env };
    return { env: all, out: new Printer(out, all), err: new Printer(err, all), openStore: (url) => open(url) };
  }

  /** Replaces what a key holds. */
  async write(key: string, data: string | Uint8Array<ArrayBuffer>): Promise<void> {
    await using store = await openMemory(`memory:${this.name}`);
    const entry = await store.read(key, { timeoutMs: 1_000 });
    const put = typeof data === 'string' ? new TextEncoder().encode(data) : data;
    await store.compareAndSwap([{ key, expect: entry?.revision ?? null, put }], { timeoutMs: 1_000 });
  }

  async delete(key: string): Promise<void> {
    await using store = await openMemory(`memory:${this.name}`);
    const entry = await store.read(key, { timeoutMs: 1_000 });
    if (entry !== undefined) await store.compareAndSwap([{ key, expect: entry.revision, delete: true }], { timeoutMs: 1_000 });
  }

  /**
   * Closes the store at the end. Stores of this console share its server, as long as one is open.
   */
  keep(store: Store): void {
    this.#stores.push(store);
  }

  async member(memberId: string): Promise<Member> {
    const store = await openMemory(`memory:${this.name}`);
    this.#stores.push(store);
    const member = new Member(store, { memberId, ttlMs: 10_000 });
    this.#members.push(member);
    return member;
  }

  async leads(memberId: string, election = 'db', value?: unknown): Promise<Leadership> {
    return (await this.member(memberId)).election(election, { value }).campaign();
  }

  /** A member that waits in the queue until it is closed. */
  async waits(memberId: string, election = 'db', value?: unknown): Promise<Member> {
    const member = await this.member(memberId);
    const own = member.election(election, { value });
    own.campaign().catch(() => {});
    while (!(await own.candidates()).some((candidate) => candidate.memberId === memberId)) await new Promise(setImmediate);
    return member;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const member of this.#members) await member.close();
    for (const store of this.#stores) await store.close();
  }
}
