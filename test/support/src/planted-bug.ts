/** Plants one bug in a source file, to show that a check finds it. */

import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/** A plausible bug: one change of one source file. */
export interface PlantedBug {
  readonly name: string;
  /** A description of the bug. */
  readonly about: string;
  /** The source file, as a path under `packages/`. */
  readonly file: string;
  /** The text that the bug replaces. It must occur in the file exactly once. */
  readonly from: string;
  readonly to: string;
}

/**
 * How often the text that a bug replaces occurs in its source file. If not once, the bug cannot be
 * planted.
 */
export function placesOf({ file, from }: PlantedBug): number {
  const source = readFileSync(new URL(`../../../packages/${file}`, import.meta.url), 'utf8');
  return source.split(from).length - 1;
}

/**
 * Changes one source file as this process loads it. The environment variable `MUTANT` names the
 * bug. Call it from a module that Node loads with `--import`, so that it runs before the file is
 * loaded. Throws if no bug has that name; loading the file throws if the bug no longer fits it.
 */
export function plantBug(bugs: readonly PlantedBug[]): void {
  const chosen = bugs.find(({ name }) => name === process.env['MUTANT']);
  if (chosen === undefined) throw new Error(`no such mutant: ${process.env['MUTANT']}`);
  const { file, from, to } = chosen;
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.endsWith(`/packages/${file}`)) return loaded;
      const source = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source ?? new Uint8Array());
      if (source.split(from).length !== 2) throw new Error(`the mutant does not fit ${file} any more: the text is not there once`);
      return { ...loaded, source: source.replace(from, () => to) };
    },
  });
}
