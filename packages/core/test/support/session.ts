/** A session on its own: every renewal is answered, or not, by the test. */

import { LeaseSession, type SessionContext, type SessionEnd } from '../../src/lease/session.ts';
import { Telemetry } from '../../src/base/telemetry.ts';
import { resolveTiming, type TimingOptions } from '../../src/lease/timing.ts';
import { momentOf } from '../../src/base/clock.ts';
import type { Lease, LeaseOptions, Random, Renewal, TimedCall } from '../../src/index.ts';
import { checkCall } from '../../src/store/checks.ts';
import { always } from './random.ts';
import { relay } from './relay.ts';
import { World } from './world.ts';

/** ttl 10,000 − margin 198.0198 − drain 1,000. */
export const VALID_MS: number = 10_000 - (0.02 / 1.01) * 10_000 - 1_000;

export interface RenewCall {
  readonly options: TimedCall<LeaseOptions>;
  /** On the monotonic clock. */
  readonly at: number;
}

/** How the store answers a renewal. */
export type Answer = (call: RenewCall) => Promise<Renewal>;

export interface SessionSetup extends TimingOptions {
  readonly grantedMs?: number;
  /** How long ago the store began to vouch for the lease. */
  readonly grantTookMs?: number;
  readonly random?: Random;
  /** As the store's capability. */
  readonly renewalLag?: number;
}

export class SessionScene {
  readonly world = new World();
  readonly context: SessionContext;
  readonly session: LeaseSession;
  readonly renewals: RenewCall[] = [];
  readonly ends: SessionEnd[] = [];
  answer: Answer = async ({ options }) => ({ ttlMs: this.#grantedMs, validFrom: options.at });
  readonly #grantedMs: number;

  constructor({ grantedMs, grantTookMs = 0, random = always(0.5), renewalLag = 0, ...options }: SessionSetup = {}) {
    const { world } = this;
    const behind = world.connect();
    const capabilities = { ...behind.capabilities, renewalLag };
    const store = relay(behind, { renewLease: (_, call) => this.#renew(checkCall(call)), capabilities });
    const timing = resolveTiming({ ttlMs: 10_000, ...options }, store.name, store.capabilities);
    this.#grantedMs = grantedMs ?? timing.ttlMs;
    this.context = { store, clock: world.clock, random, timing, telemetry: new Telemetry(world.events, {}) };
    const { monotonicMs, wallMs } = momentOf(world.clock);
    const validFrom = { monotonicMs: monotonicMs - grantTookMs, wallMs: wallMs - grantTookMs };
    const lease: Lease = { id: 'lease-1', ttlMs: this.#grantedMs, validFrom };
    this.session = new LeaseSession(this.context, lease);
    this.session.onEnd((end) => this.ends.push(end));
    this.session.start();
  }

  /** When renewals were sent, in whole ms. */
  get sentAt(): readonly number[] {
    return this.renewals.map(({ at }) => Math.round(at));
  }

  async pass(ms: number): Promise<void> {
    await this.world.pass(ms);
  }

  async #renew(options: TimedCall<LeaseOptions>): Promise<Renewal> {
    const call = { options, at: this.world.clock.monotonic() };
    this.renewals.push(call);
    return this.answer(call);
  }
}

/** A session whose first renewal is never answered. */
export function unanswered(): SessionScene {
  const scene = new SessionScene();
  scene.answer = () => new Promise(() => {});
  return scene;
}
