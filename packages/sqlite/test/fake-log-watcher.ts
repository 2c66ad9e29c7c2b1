/** Stands in for the system, which tells a store of changes of its log: here a test does, in place of `hints.ts`. */

/** What the store that asked last is told by, and how often one has asked to be told no more. */
export const hints = { changed: (): void => {}, stopped: 0 };

export class LogHints {
  start(changed: () => void): void {
    hints.changed = changed;
  }

  stop(): void {
    hints.changed = () => {};
    hints.stopped += 1;
  }
}
