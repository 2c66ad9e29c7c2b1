import type { Certificates } from './certificates.ts';
import type { Instance } from './instance.ts';
import type { Leadership, ServerKind } from './kind.ts';
import { ready, StartFailed } from './ready.ts';
import type { ClusterServer, Credentials } from './types.ts';

export interface ServerProcessOptions {
  readonly url: string;
  readonly instance: Instance;
  readonly kind: ServerKind;
  readonly auth: Credentials | undefined;
  readonly tls: Certificates | undefined;
}

/**
 * A server that ends meanwhile is noticed at once. Shorter than the minute that a test's hook may
 * take, so that the failure of a server that never serves has the server's log.
 */
const READY_MS = 45_000;
const RESTARTS = 5;

/** One server that this process has started. */
export class ServerProcess implements ClusterServer {
  readonly url: string;
  readonly endpoints: readonly string[];
  readonly auth?: Credentials;
  readonly tls?: Certificates;
  version = '';
  readonly #instance: Instance;
  readonly #kind: ServerKind;

  constructor({ url, instance, kind, auth, tls }: ServerProcessOptions) {
    this.url = url;
    this.endpoints = [url];
    this.#instance = instance;
    this.#kind = kind;
    if (auth !== undefined) this.auth = auth;
    if (tls !== undefined) this.tls = tls;
  }

  /** Starts it, and resolves when it serves requests. Throws {@link StartFailed}. */
  async start(): Promise<void> {
    await this.#instance.start();
    await ready(this.#instance, () => this.#answers(), { what: `${this.#kind.name} at ${this.url}`, withinMs: READY_MS });
  }

  /**
   * Throws if the server does not answer in time, which on a busy machine says nothing about the
   * next attempt.
   */
  async #answers(): Promise<boolean> {
    if (!(await this.#kind.serves(this))) return false;
    this.version = await this.#kind.versionOf(this);
    return true;
  }

  kill(signal?: NodeJS.Signals): Promise<void> {
    return this.#instance.kill(signal);
  }

  async restart(): Promise<void> {
    await this.kill();
    for (let left = RESTARTS; ; left -= 1) {
      try {
        return await this.start();
      } catch (error) {
        // The port is reserved for the server, but an outgoing connection may be using it.
        if (left === 0 || !(error instanceof StartFailed && error.addressInUse)) throw error;
        await this.kill();
      }
    }
  }

  pause(): Promise<void> {
    return this.#instance.pause();
  }

  resume(): Promise<void> {
    return this.#instance.resume();
  }

  leadership(): Promise<Leadership> {
    return this.#kind.leadershipOf(this);
  }

  ctl(args: readonly string[]): Promise<string> {
    return this.ctlAt(this.endpoints, args);
  }

  canCtl(): Promise<boolean> {
    return this.#instance.canExec();
  }

  /** Runs the server's own tool on any endpoints of its cluster. */
  ctlAt(endpoints: readonly string[], args: readonly string[]): Promise<string> {
    return this.#kind.ctl((program, given) => this.#instance.exec(program, given), endpoints, this, args);
  }

  /** Runs another program that belongs to the server, and returns its output. */
  exec(program: string, args: readonly string[]): Promise<string> {
    return this.#instance.exec(program, args);
  }

  remove(): Promise<void> {
    return this.#instance.remove();
  }
}
