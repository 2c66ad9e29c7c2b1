/**
 * Receives members' writes to resources outside the store, one with a fence and one without, and
 * sends orders to members.
 */

import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { Fence, isIncumbentError } from '@incumbent/core';
import { LOOPBACK } from '@incumbent/test-support';
import type { Who } from './history.ts';
import type { Recorder } from './recorder.ts';

export type Order = { readonly block: number } | { readonly answer: true } | { readonly watches: 'silent' | 'heard' };

export class Hub implements AsyncDisposable {
  readonly #recorder: Recorder;
  readonly #whoIs: (pid: number) => Who;
  readonly #server: Server;
  readonly #sockets = new Map<Who, Socket>();
  readonly #held = new Map<Who, (() => void)[]>();
  readonly #fence = new Fence();
  #highestAtTwin = 0n;

  private constructor(recorder: Recorder, whoIs: (pid: number) => Who) {
    this.#recorder = recorder;
    this.#whoIs = whoIs;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async open(recorder: Recorder, whoIs: (pid: number) => Who): Promise<Hub> {
    const hub = new Hub(recorder, whoIs);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    hub.#server.once('error', reject).listen({ host: LOOPBACK, port: 0 }, resolve);
    await promise;
    return hub;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the hub is not open');
    return address.port;
  }

  /** Whether there was such a process to receive the order. */
  order(who: Who, order: Order): boolean {
    const socket = this.#sockets.get(who);
    socket?.write(`${JSON.stringify(order)}\n`);
    return socket !== undefined;
  }

  /** Holds its writes. They arrive late, all at once, when the returned function is called. */
  hold(who: Who): () => void {
    this.#held.set(who, []);
    return () => {
      const late = this.#held.get(who) ?? [];
      this.#held.delete(who);
      for (const write of late) write();
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets.values()) socket.destroy();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    await promise;
  }

  #serve(socket: Socket): void {
    let who: Who | undefined;
    socket.setNoDelay(true).on('error', () => {});
    createInterface({ input: socket })
      .on('line', (line) => {
        const { pid, write } = parse(line);
        if (who === undefined) this.#sockets.set((who = this.#whoIs(Number(pid))), socket);
        else this.#arrive(who, BigInt(String(write)));
      })
      .on('error', () => {});
    socket.once('close', () => (who === undefined ? undefined : this.#sockets.delete(who)));
  }

  #arrive(who: Who, term: bigint): void {
    const held = this.#held.get(who);
    if (held === undefined) this.#write(who, term);
    else held.push(() => this.#write(who, term));
  }

  #write(who: Who, term: bigint): void {
    const at = this.#recorder.now();
    const { highest } = this.#fence;
    this.#recorder.add({ type: 'wrote', at, who, term, to: 'fenced', accepted: this.#admits(term), highest });
    this.#recorder.add({ type: 'wrote', at, who, term, to: 'unguarded', accepted: true, highest: this.#highestAtTwin });
    if (term > this.#highestAtTwin) this.#highestAtTwin = term;
  }

  #admits(term: bigint): boolean {
    try {
      this.#fence.admit(term);
      return true;
    } catch (error) {
      if (!isIncumbentError(error, 'STALE_TERM')) throw error;
      return false;
    }
  }
}

function parse(line: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(line);
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
