/**
 * A disk that can be frozen. While it is frozen, processes that write to it wait, and reads
 * succeed.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';

import { run } from '../run.ts';
import { StoreUnavailable } from './source.ts';

/**
 * More than two segments of etcd's log, of 64 MiB each, and its snapshots need. The file is sparse.
 */
const DISK_BYTES = 1_024 * 2 ** 20;

/**
 * Mounts the file on the folder, then freezes and thaws it on commands, one per line. When its
 * standard input closes, because its parent has ended in any way, it thaws and unmounts. A process
 * that writes to a frozen disk cannot be killed.
 */
const KEEPER = `
mount -o loop "$1" "$2" || exit 1
echo mounted
while read -r command; do
  case "$command" in
    freeze) if fsfreeze -f "$2"; then echo frozen; else echo failed; fi ;;
    thaw) if fsfreeze -u "$2"; then echo thawed; else echo failed; fi ;;
  esac
done
fsfreeze -u "$2" 2>/dev/null
umount "$2" 2>/dev/null || umount -l "$2"
`;

export class FreezableDisk implements AsyncDisposable {
  readonly #keeper: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #isFrozen = false;

  private constructor(keeper: ChildProcess, lines: AsyncIterator<string>) {
    this.#keeper = keeper;
    this.#lines = lines;
  }

  /**
   * Creates a disk in the file and mounts it on the folder. Needs root on Linux. Throws
   * `StoreUnavailable` if that is impossible.
   */
  static async mount(file: string, folder: string): Promise<FreezableDisk> {
    try {
      await mkdir(folder, { recursive: true });
      await writeFile(file, '');
      await truncate(file, DISK_BYTES);
      await run('mkfs.ext4', ['-q', '-F', file]);
      const keeper = spawn('/bin/sh', ['-c', KEEPER, 'keeper', file, folder], { stdio: ['pipe', 'pipe', 'ignore'] });
      await once(keeper, 'spawn');
      const disk = new FreezableDisk(keeper, createInterface({ input: keeper.stdout })[Symbol.asyncIterator]());
      await disk.#hear('mounted');
      return disk;
    } catch (error) {
      throw new StoreUnavailable('disk that can be frozen', [error instanceof Error ? error.message : String(error)]);
    }
  }

  /** From now on writes wait. Resolves when this is in effect. */
  async freeze(): Promise<void> {
    this.#keeper.stdin?.write('freeze\n');
    await this.#hear('frozen');
    this.#isFrozen = true;
  }

  /** Waiting writes continue. Does nothing if the disk is not frozen. */
  async thaw(): Promise<void> {
    if (!this.#isFrozen) return;
    this.#keeper.stdin?.write('thaw\n');
    await this.#hear('thawed');
    this.#isFrozen = false;
  }

  /** Thaws and unmounts it. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#keeper.exitCode !== null) return;
    const exited = once(this.#keeper, 'exit');
    this.#keeper.stdin?.end();
    await exited;
  }

  async #hear(word: string): Promise<void> {
    const { value } = await this.#lines.next();
    if (value !== word) throw new Error(`the disk was to be ${word}, and is not`);
  }
}
