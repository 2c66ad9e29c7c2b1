/** The views of a member: who leads, and, with an open membership, who the members are. */

import { ValueStream, withJson } from '@incumbent/core/adapter';
import type { PeerMembership, PeerView, Safety } from './algorithm.ts';

export class Views<S extends Safety> {
  readonly leaders: ValueStream<PeerView<S>>;
  readonly memberships: ValueStream<PeerMembership | undefined>;

  /** `failed` is called with the errors that subscribers throw. */
  constructor(failed: (error: unknown) => void) {
    this.leaders = new ValueStream(failed);
    this.leaders.set({ state: 'unknown' });
    this.memberships = new ValueStream(failed);
    this.memberships.set(undefined);
  }

  get current(): PeerView<S> {
    return this.leaders.value ?? { state: 'unknown' };
  }

  /** Shows a view. Ignores a view that equals the present one. */
  see(view: PeerView<S>): void {
    if (!isSame(view, this.current)) this.leaders.set(withJson({ ...view }));
  }

  /** Ends all views with `unknown`. Iterations then throw the error if there is one. */
  end(failure?: { readonly error: unknown }): void {
    this.see({ state: 'unknown' });
    this.memberships.set(undefined);
    this.leaders.end(failure);
    this.memberships.end(failure);
  }
}

function isSame<S extends Safety>(view: PeerView<S>, current: PeerView<S>): boolean {
  return view.state === 'leader' && current.state === 'leader'
    ? view.memberId === current.memberId && view.term === current.term && view.round === current.round
    : view.state === current.state;
}
