/** A bug that somebody might make: one change of one source file. */

export interface Mutant {
  readonly name: string;
  /** What the bug is. */
  readonly about: string;
  /** The source, as a path under `packages/`, and the text in it, which is there once. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export function mutant(name: string, about: string, file: string, from: string, to: string): Mutant {
  return { name, about, file, from, to };
}
