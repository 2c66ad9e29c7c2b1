/** A bug that somebody might make: one line of the sources. */

export interface Bug {
  readonly name: string;
  /** What the bug is. */
  readonly about: string;
  /** The file, under `src`, and the text in it, which is there once. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** The simulation in whose worlds it is hunted. */
  readonly on: string;
}

export function bug(on: string, name: string, about: string, file: string, from: string, to: string): Bug {
  return { name, about, file, from, to, on };
}
