/** A member's process, in the director's hands. */

import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { now } from './clock.ts';
import type { Life } from './history.ts';
import { isMemberEvent, type Command, type MemberEvent } from './messages.ts';

const MEMBER = fileURLToPath(new URL('member.ts', import.meta.url));
/** Of what it prints when it crashes, the last so many characters are kept. */
const OUTPUT_CHARS = 4_000;

export class MemberProcess implements Life {
  readonly member: string;
  readonly from: number = now();
  /** Resolves when it has ended and all that it told has arrived. */
  readonly closed: Promise<void>;
  readonly #child: ChildProcess;
  #due: string | undefined;
  #end: Life['end'];
  #closed = false;
  #output = '';

  /** It inherits this process's own Node options, and so finds the packages where this one does. */
  constructor(member: string, { url, ttlMs, heard }: { url: string; ttlMs: number; heard: (event: MemberEvent) => void }) {
    this.member = member;
    this.#child = fork(MEMBER, [url, member, String(ttlMs)], { serialization: 'advanced', stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    this.#child.on('message', (message) => {
      if (isMemberEvent(message)) heard(message);
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#output = (this.#output + text).slice(-OUTPUT_CHARS)));
    this.#child.on('error', ({ message }) => (this.#end ??= { at: now(), how: message }));
    this.#child.on('exit', (code, signal) => (this.#end = { at: now(), how: signal ?? `exit code ${code}` }));
    this.closed = this.#close();
  }

  get due(): string | undefined {
    return this.#due;
  }

  get end(): Life['end'] {
    return this.#end;
  }

  /** Ended without having been told to: how, and what it said last. */
  get crash(): string | undefined {
    if (this.#end === undefined || !this.#closed || this.#due !== undefined) return undefined;
    const error = /^\w*Error\b.*/m.exec(this.#output)?.[0] ?? this.#output.trim().split('\n').at(-1);
    return `${this.member} ended by itself (${[this.#end.how, error].filter(Boolean).join('; ')})`;
  }

  /** What comes of it shows in what the member tells. */
  command(command: Command): void {
    this.#child.send(command, () => {});
  }

  kill(): void {
    if (this.#end !== undefined) return;
    this.#due ??= 'SIGKILL';
    this.#child.kill('SIGKILL');
  }

  /** Once is enough: a second SIGTERM would end it at once. */
  terminate(): void {
    if (this.#end !== undefined || this.#due !== undefined) return;
    this.#due = 'exit code 0';
    this.#child.kill('SIGTERM');
  }

  wake(): void {
    this.#child.kill('SIGCONT');
  }

  async #close(): Promise<void> {
    const [closed, disconnected] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    this.#child.once('close', () => closed.resolve()).once('disconnect', () => disconnected.resolve());
    await Promise.all([closed.promise, disconnected.promise]);
    this.#closed = true;
  }
}
