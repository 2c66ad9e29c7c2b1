import type { Certificates } from '../certificates.ts';
import type { Instance } from '../instance.ts';
import { ready, StartFailed } from '../ready.ts';
import { ctlArgs } from './ctl.ts';
import type { ClusterPlan } from './plan.ts';
import { isHealthy, versionOf } from './status.ts';
import type { Credentials, EtcdClusterServer } from './types.ts';

const READY_MS = 15_000;
const RESTARTS = 5;

/** One server of ours. */
export class EtcdProcess implements EtcdClusterServer {
  readonly url: string;
  readonly endpoints: readonly string[];
  readonly auth?: Credentials;
  readonly tls?: Certificates;
  version = '';
  readonly #instance: Instance;

  constructor(url: string, instance: Instance, { auth, certificates }: ClusterPlan) {
    this.url = url;
    this.endpoints = [url];
    this.#instance = instance;
    if (auth !== undefined) this.auth = auth;
    if (certificates !== undefined) this.tls = certificates;
  }

  /** Starts it and resolves when it serves. Throws {@link StartFailed}. */
  async start(): Promise<void> {
    await this.#instance.start();
    await ready(this.#instance, () => isHealthy(this.url, this.tls), { what: `etcd at ${this.url}`, withinMs: READY_MS });
    this.version = await versionOf(this.url, this.tls);
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
        // The port is ours by right, but a passing connection may have borrowed it.
        if (left === 0 || !(error instanceof StartFailed && error.addressInUse)) throw error;
      }
    }
  }

  pause(): Promise<void> {
    return this.#instance.pause();
  }

  resume(): Promise<void> {
    return this.#instance.resume();
  }

  ctl(args: readonly string[]): Promise<string> {
    return this.ctlAt(this.endpoints, args);
  }

  canCtl(): Promise<boolean> {
    return this.#instance.canExec();
  }

  /** Runs the etcdctl that came with this server against any endpoints of its cluster. */
  ctlAt(endpoints: readonly string[], args: readonly string[]): Promise<string> {
    return this.#instance.exec('etcdctl', ctlArgs(endpoints, this, args));
  }

  remove(): Promise<void> {
    return this.#instance.remove();
  }
}
