/** Short forms for writing cases. */

import type { Area, StoreCase } from './case.ts';
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
