/**
 * The interface of a fuzz target: a reader of foreign bytes. A package exports its targets in
 * `test/fuzz/targets.ts`. Beside it, `corpus/<target>/` contains the inputs that have reached new
 * code, one file each. A unit test reads them all again.
 */

import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

import type { Arbitrary } from 'fast-check';

export interface FuzzTarget {
  /** The name of its folder in the corpus. */
  readonly name: string;
  /** Inputs that are mostly valid. The fuzzer changes them. */
  readonly inputs: Arbitrary<Uint8Array>;
  /** Words of the format that the fuzzer sometimes inserts. */
  readonly words?: readonly string[];
  /**
   * Reads the input. An error for which `isRefusal` is false is a defect, whether it is thrown or
   * rejected.
   */
  read(input: Uint8Array): unknown;
  /** Whether the error is one that the reader documents. */
  isRefusal(error: unknown): boolean;
}

/** A target and its origin. */
export interface FoundTarget {
  readonly target: FuzzTarget;
  /** `etcd/messages` of `packages/etcd/test/fuzz/targets.ts`. */
  readonly name: string;
  /** The module that exports it in `targets`. */
  readonly file: string;
}

/** Longer inputs reach no code that shorter ones do not. */
export const MAX_INPUT_BYTES = 16_384;

export async function findTargets(root: string): Promise<readonly FoundTarget[]> {
  const files = globSync('packages/*/test/fuzz/targets.ts', { cwd: root }).toSorted();
  const found = await Promise.all(files.map((file) => targetsIn(join(root, file))));
  return found.flat();
}

/** The targets that a module exports. Throws a `TypeError` if it exports no `targets`. */
export async function targetsIn(file: string): Promise<readonly FoundTarget[]> {
  const module: unknown = await import(pathToFileURL(file).href);
  if (!hasTargets(module)) throw new TypeError(`${file} exports no targets`);
  const [owner = ''] = dirname(file).split(/[/\\]/).slice(-3);
  return module.targets.map((target) => ({ target, name: `${owner}/${target.name}`, file }));
}

function hasTargets(module: unknown): module is { readonly targets: readonly FuzzTarget[] } {
  return typeof module === 'object' && module !== null && 'targets' in module && Array.isArray(module.targets);
}

/** Runs a reader, which may throw an error that is a refusal. */
export function mayRefuse(isRefusal: (error: unknown) => boolean, read: () => void): void {
  try {
    read();
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
}

/**
 * Reads one input. Resolves if the reader accepts or refuses it, and rejects with a defect of the
 * reader.
 */
export async function feed(target: FuzzTarget, input: Uint8Array): Promise<void> {
  try {
    // A copy, because a reader may keep it.
    await target.read(input.slice());
  } catch (error) {
    if (!target.isRefusal(error)) throw error;
  }
}

/** The stored inputs of one target. */
export class Corpus {
  readonly #folder: string;

  /** `file`: the module that exports the target. */
  constructor(file: string, target: string) {
    this.#folder = join(dirname(file), 'corpus', target);
  }

  read(): readonly { readonly name: string; readonly input: Uint8Array }[] {
    if (!existsSync(this.#folder)) return [];
    const names = readdirSync(this.#folder).toSorted();
    return names.map((name) => ({ name, input: new Uint8Array(readFileSync(join(this.#folder, name))) }));
  }

  /** Returns the path of the file. */
  add(input: Uint8Array): string {
    mkdirSync(this.#folder, { recursive: true });
    const path = join(this.#folder, createHash('sha256').update(input).digest('hex').slice(0, 16));
    writeFileSync(path, input);
    return path;
  }
}
