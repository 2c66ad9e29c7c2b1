import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { freePort, LOOPBACK, until } from '../src/index.ts';
import { SocksGate } from '../src/proxy/socks.ts';
import { EchoServer } from './echo.ts';

const GREETING = [5, 2, 0, 2];
const ANSWER_TO_GREETING = [5, 0];
const CONNECTED = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0];
const REFUSED = [5, 5, 0, 1, 0, 0, 0, 0, 0, 0];
const SOON = { everyMs: 5 };

let gate: SocksGate;
let echo: EchoServer;

beforeEach(async () => {
  gate = await SocksGate.open();
  echo = await EchoServer.start();
});

afterEach(async () => {
  await echo[Symbol.asyncDispose]();
  await gate[Symbol.asyncDispose]();
});

/** A client of the gate, which keeps all that it is told. */
class Client implements Disposable {
  heard = Buffer.alloc(0);
  ended = false;
  readonly #socket: Socket;

  constructor() {
    this.#socket = connect({ host: LOOPBACK, port: gate.port, noDelay: true });
    this.#socket.on('data', (bytes: Buffer) => (this.heard = Buffer.concat([this.heard, bytes])));
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => (this.ended = true));
  }

  say(bytes: readonly number[] | string): void {
    this.#socket.write(Buffer.from(bytes));
  }

  async ask(port: number): Promise<number[]> {
    this.say(GREETING);
    await until(() => this.heard.length === 2, { what: 'an answer to the greeting', ...SOON });
    expect([...this.heard]).toEqual(ANSWER_TO_GREETING);
    this.say([5, 1, 0, 1, 127, 0, 0, 1, Math.floor(port / 256), port % 256]);
    await until(() => this.heard.length === 12, { what: 'an answer', ...SOON });
    return [...this.heard.subarray(2)];
  }

  /** What comes back on the connection that was asked for. */
  get echoed(): string {
    return this.heard.subarray(12).toString();
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

describe('a SOCKS gate', () => {
  test('lets a client through to a port that was opened', async () => {
    const proxy = gate.proxyTo(echo.port);
    using client = new Client();
    await expect(client.ask(echo.port)).resolves.toEqual(CONNECTED);
    client.say('hello');
    await until(() => client.echoed === 'hello', { what: 'an echo', ...SOON });
    expect(proxy.stats()).toEqual({
      connections: { opened: 1, open: 1 },
      requests: { passed: 5, dropped: 0 },
      replies: { passed: 5, dropped: 0 },
    });
  });

  test('tells a client that a port was not opened, that nobody listens there, or that its proxy refuses', async () => {
    const nobody = await freePort();
    gate.proxyTo(nobody);
    const proxy = gate.proxyTo(echo.port);
    proxy.refuse();
    for (const port of [await freePort(), nobody, echo.port]) {
      using client = new Client();
      await expect(client.ask(port)).resolves.toEqual(REFUSED);
      await until(() => client.ended, { what: 'an end', ...SOON });
    }
    await proxy.heal();
    using client = new Client();
    await expect(client.ask(echo.port)).resolves.toEqual(CONNECTED);
  });

  test('each port has faults of its own', async () => {
    const other = await EchoServer.start();
    const cut = gate.proxyTo(echo.port);
    gate.proxyTo(other.port);
    using one = new Client();
    using two = new Client();
    await Promise.all([one.ask(echo.port), two.ask(other.port)]);
    cut.blackhole();
    one.say('lost');
    two.say('heard');
    await until(() => two.echoed === 'heard', { what: 'an echo', ...SOON });
    expect([one.echoed, echo.received]).toEqual(['', '']);
    await cut.heal();
    await until(() => one.ended, { what: 'the end of what had lost something', ...SOON });
    await other[Symbol.asyncDispose]();
  });

  test('sends away who speaks something else, or leaves in between', async () => {
    gate.proxyTo(echo.port);
    using stranger = new Client();
    stranger.say('GET / HTTP/1.1\r\n\r\n'.padEnd(300));
    await until(() => stranger.ended, { what: 'an end', ...SOON });
    const quitter = connect({ host: LOOPBACK, port: gate.port });
    await once(quitter, 'connect');
    quitter.end(Buffer.from([5]));
    quitter.resume();
    await once(quitter, 'close');
    expect(echo.connections).toBe(0);
  });
});
