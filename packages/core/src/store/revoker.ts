/** How another process or thread revokes and renews the leases of a store. */

import type { LeaseOptions, Renewal, TimedCall } from './contract.ts';

/** Creates a revoker from `Revocation.access`. Does no I/O yet. */
export type OpenRevoker = (access: string) => Promise<Revoker>;

/** Revokes the leases of another process, or renews those of another thread. */
export interface Revoker {
  /**
   * Makes one attempt, like `Store.revokeLease`. When it resolves, the lease and all keys bound to
   * it are certainly gone.
   *
   * @throws A `StoreError`.
   */
  revoke(ticket: string, options: TimedCall): Promise<void>;
  /**
   * Makes one attempt, like `Store.renewLease`, beside the store that was granted the lease.
   * Present if `Revocation.renews` is true.
   *
   * @throws A `StoreError`: `LEASE_EXPIRED` if the lease has certainly ended.
   */
  renew?(ticket: string, options: TimedCall<LeaseOptions>): Promise<Renewal>;
  /** Frees sockets and timers, within a bounded time. */
  close(): Promise<void>;
}
