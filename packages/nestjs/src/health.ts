/** The health of this process, for `@nestjs/terminus` 11 and later. */

import { Inject, Injectable } from '@nestjs/common';
import { ElectionHost, type HostHealth } from 'incumbent/host';

/** A result as `@nestjs/terminus` expects it. */
export type HealthResult<K extends string> = Record<K, { readonly status: 'up' | 'down' } & Omit<HostHealth, 'healthy'>>;

/** A health indicator: `health.check([() => indicator.check('incumbent')])`. */
export class IncumbentHealthIndicator {
  readonly #host: ElectionHost;

  constructor(host: ElectionHost) {
    this.#host = host;
  }

  /**
   * `up` unless a restart of this process would help: its lease is not renewed in time, work goes
   * on after its leadership, or it takes no further part in an election. A process that does not
   * lead is up, and so is one whose store is away: a restart would not help.
   */
  check<K extends string>(key: K): HealthResult<K>;
  check(key: string): HealthResult<string> {
    const { healthy, ...details } = this.#host.health();
    return { [key]: { status: healthy ? 'up' : 'down', ...details } };
  }
}

Injectable()(IncumbentHealthIndicator);
Inject(ElectionHost)(IncumbentHealthIndicator, undefined, 0);
