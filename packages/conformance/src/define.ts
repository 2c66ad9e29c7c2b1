/** Short forms for writing cases. */

import type { Area, StoreCase } from './case.ts';
import { breakable, type Breakable } from './breakable-client.ts';
import { connect, type Client } from './client.ts';
import type { StoreHarness } from './harness.ts';

type Options = Pick<StoreCase, 'needs' | 'faults'>;
/** The body of a case. It receives its harness and one client. */
type Body = (client: Client, harness: StoreHarness) => Promise<void>;

/** Returns a function that defines cases of one area. Each case starts with one open client. */
export function casesOf(area: Area): (name: string, body: Body, options?: Options) => StoreCase {
  return (name, body, options = {}) => ({
    area,
    name,
    ...options,
    run: async (harness) => body(await connect(harness), harness),
  });
}

/** The body of a case with faults. `broken` is a second client, on a link that can fail. */
type FaultBody = (broken: Breakable, client: Client, harness: StoreHarness) => Promise<void>;

/**
 * Returns a function that defines cases of one area, each with a client on a link that can fail.
 */
export function faultCasesOf(area: Area): (name: string, options: Options, body: FaultBody) => StoreCase {
  const define = casesOf(area);
  return (name, options, body) => define(name, async (client, harness) => body(await breakable(harness), client, harness), options);
}
