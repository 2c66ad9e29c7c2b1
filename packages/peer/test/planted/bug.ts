/** A bug to plant: a change of one piece of source text. */

export interface Bug {
  readonly name: string;
  /** What the bug does. */
  readonly about: string;
  /** The file under `src`, and the text to replace, which must occur in it exactly once. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** The simulation that must find the bug. */
  readonly on: string;
}

export function bug(on: string, name: string, about: string, file: string, from: string, to: string): Bug {
  return { name, about, file, from, to, on };
}
