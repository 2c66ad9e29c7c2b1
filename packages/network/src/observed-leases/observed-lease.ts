/** What one observer knows of one lease on a store that ends no leases itself. */

/** A lease as an observer saw it. */
export interface LeaseView {
  /**
   * Identifies the object and its last change. Every renewal changes it, and it never takes a value
   * that it had before.
   */
  readonly version: string;
  /** The ttl that the holder was granted, in ms. */
  readonly ttlMs: number;
}

/**
 * Times one lease by the observer's own monotonic clock. Nobody's wall clock matters, nor what a
 * holder wrote about its own time.
 *
 * The observer may end the lease when it has known one version for a whole ttl, **counted from
 * after it received that version**. The holder counts the same ttl from before it sent the renewal
 * that made the version. The holder's ttl therefore began earlier, and ends earlier, as long as the
 * two clocks run at rates that the holder's own margin covers.
 *
 * The end must be conditional on the version. An observer that was paused, or whose answer was
 * late, may be wrong about the version, but then the condition fails. It can never be wrong about
 * the time: whatever delays an observer makes it wait longer.
 */
export class ObservedLease {
  #view: LeaseView;
  #sinceMs: number;

  /** `atMs`: the monotonic time after the view has arrived. */
  constructor(view: LeaseView, atMs: number) {
    this.#view = view;
    this.#sinceMs = atMs;
  }

  get version(): string {
    return this.#view.version;
  }

  get ttlMs(): number {
    return this.#view.ttlMs;
  }

  /** The monotonic time from which the lease may be ended if its version is still the same. */
  get endsAtMs(): number {
    return this.#sinceMs + this.#view.ttlMs;
  }

  /**
   * Takes the next view, which arrived before `atMs`. A changed version begins the time anew.
   * Returns whether the lease may be ended now.
   */
  see(view: LeaseView, atMs: number): boolean {
    if (view.version !== this.#view.version || view.ttlMs !== this.#view.ttlMs) {
      this.#view = view;
      this.#sinceMs = atMs;
    }
    return atMs >= this.endsAtMs;
  }

  /**
   * The same for a view from a read that began at `beganMs`. If a version has arrived since, the
   * read may have been answered before that version was made, so it counts only with that version.
   */
  seeRead(view: LeaseView, beganMs: number, atMs: number): boolean {
    return (this.#sinceMs <= beganMs || view.version === this.#view.version) && this.see(view, atMs);
  }
}
