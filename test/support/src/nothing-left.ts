/** Checks that elections on a store in memory have left nothing behind. */

import { expect } from 'vitest';

/** A manual clock and a server in memory, as `@incumbent/memory` has them. */
export interface MemoryScene {
  readonly clock: { readonly timers: number; readonly holds: number };
  readonly server: {
    readonly watches: { readonly open: number };
    leases(): readonly unknown[];
    keys(): readonly string[];
  };
}

/**
 * Checks that no timer, watch, lease or key is left, except the keys of the terms (the law "Nothing
 * is left behind" in docs/architecture.md).
 */
export function expectNothingLeft({ clock, server }: MemoryScene): void {
  const keys = server.keys().filter((key) => !key.endsWith('/term'));
  const left = { timers: clock.timers, holds: clock.holds, watches: server.watches.open, leases: server.leases(), keys };
  expect(left).toEqual({ timers: 0, holds: 0, watches: 0, leases: [], keys: [] });
}
