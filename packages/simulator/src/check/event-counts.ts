/** Counts events, so that a world in which nothing happened does not count as a safe one. */

import type { Listener, WorldEvent } from '../world/event.ts';

export class EventCounts implements Listener {
  readonly counts: Map<string, number> = new Map();
  readonly #writes: string | undefined;
  #newest = 0n;

  /** `writes` names the election whose leaders write. Default: any election. */
  constructor(writes?: string) {
    this.#writes = writes;
  }

  onEvent(event: WorldEvent): void {
    if (event.type === 'issued' && event.election === (this.#writes ?? event.election)) this.#newest = event.term;
    const stale = event.type === 'wrote' && event.to === 'unguarded' && event.term < this.#newest;
    const name = stale ? 'wrote: unguarded, stale' : nameOf(event);
    if (name !== undefined) this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }
}

function nameOf(event: WorldEvent): string | undefined {
  switch (event.type) {
    case 'faultInjected':
      return `fault: ${event.kind}`;
    case 'ended':
      return `ended: ${event.reason}`;
    case 'wrote':
    case 'refused':
      return `${event.type}: ${event.to}`;
    case 'logged':
      return `logged: ${event.message}`;
    case 'recordGone':
      return `record gone: ${event.cause.by}`;
    case 'request':
      return undefined;
    case 'calmState':
      return event.members.some(({ leases }) => leases > 1) ? 'calmState: several leases' : 'calmState: one lease each';
    case 'shown':
      return `shown: ${event.view.state}`;
    default:
      return event.type;
  }
}
