/** The command in this process, on a store in memory, with what it writes. */

import { Member, type Leadership, type Store } from '@incumbent/core';
import { openMemory } from '@incumbent/memory';

import { Printer, runCli } from '../../src/index.ts';
import type { Surroundings } from '../../src/surroundings.ts';

class Sheet {
  text = '';
  isTTY = false;
  columns = 100;

  write(text: string): boolean {
    this.text += text;
    return true;
  }

  on(): void {}
}

export interface Answer {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface AskOptions {
  readonly tty?: boolean;
  readonly env?: Record<string, string>;
  readonly open?: (url: string) => Promise<Store>;
}

let names = 0;

export class Console implements AsyncDisposable {
  readonly name = `cli-${(names += 1)}`;
  readonly #members: Member[] = [];
  readonly #stores: Store[] = [];

  async ask(args: readonly string[], options: AskOptions = {}): Promise<Answer> {
    const [out, err] = [new Sheet(), new Sheet()];
    const code = await runCli(args, this.surroundings(options, out, err));
    return { code, out: out.text, err: err.text };
  }

  surroundings({ tty = false, env = {}, open = openMemory }: AskOptions = {}, out = new Sheet(), err = new Sheet()): Surroundings {
    out.isTTY = err.isTTY = tty;
    const all = { INCUMBENT_STORE: `memory:${this.name}`, ...env };
    return { env: all, out: new Printer(out, all), err: new Printer(err, all), openStore: (url) => open(url) };
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

  /** In the queue, until closed. */
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
