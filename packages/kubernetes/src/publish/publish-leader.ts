/** Publishes who leads, for other tools in the cluster. */

import type { Election, Store } from '@incumbent/core';
import { invalidOption } from '@incumbent/core/adapter';

import { KubernetesStore } from '../store.ts';
import { checkPublishOptions, type PublishOptions } from './options.ts';
import { Publisher } from './publisher.ts';

/** Publishes the leader of one election until it is closed. */
export interface LeaderPublisher extends AsyncDisposable {
  /**
   * Stops publishing. If this member leads, withdraws what is published. Takes at most 2 s, and
   * never rejects. Idempotent. The close of the store does the same.
   */
  close(): Promise<void>;
}

/**
 * Publishes the leader of an election in a `Lease`, where `kubectl get lease` shows it, and if you
 * wish as a label of the leader's pod, which a Service can select, and as Events. Call it once in
 * every member. What it publishes is information for people and tools: it can be late, and only
 * `leadership.isValid()` and the term protect a resource. The member that leads keeps it up to
 * date, and withdraws it when its leadership ends: the label before the term is released, if the
 * API server answers within `drainMs`. No failure has another effect on the election: `onError`
 * gets it, and the publisher tries again while it matters.
 *
 * @throws `TypeError` or `RangeError` with the code `INVALID_OPTION`, also for a store that
 * `openKubernetes` has not opened. `StoreError` with the code `STORE_CLOSED`.
 */
export function publishLeader<V>(store: Store, election: Election<V>, options: PublishOptions): LeaderPublisher {
  const settings = checkPublishOptions(options);
  if (!(store instanceof KubernetesStore)) throw invalidOption('store', store, 'one that openKubernetes has opened');
  if (!isElection(election)) throw invalidOption('election', election, 'a result of member.election(name)');
  return new Publisher(store.cluster, election, settings);
}

function isElection(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'onElected' in value && typeof value.onElected === 'function';
}
