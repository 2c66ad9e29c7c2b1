/** The compose files of `docker/`, as its README describes them. */

import { readdirSync, readFileSync } from 'node:fs';
import { composeCommand, outcomeOf, type composeImages, type OutcomeOptions } from '@incumbent/test-support';

const FOLDER: URL = new URL('../../docker/', import.meta.url);

export type ComposeStore = keyof typeof composeImages;

/** A row of the README's table. */
export interface ComposeService {
  /** `etcd`, or `etcd-cluster`. */
  readonly name: string;
  readonly store: ComposeStore;
  readonly isCluster: boolean;
  /** The words after `docker compose`. */
  readonly start: readonly string[];
  readonly url: string;
}

export function composeReadme(): string {
  return readFileSync(new URL('README.md', FOLDER), 'utf8');
}

export function composeServices(): readonly ComposeService[] {
  const rows = composeReadme().matchAll(/^\| `docker compose ([^`]*)` \| `([^`]*)`/gm);
  return [...rows].map(([, words = '', url = '']) => {
    const start = words.split(' ');
    const name = start.find((word) => /^[a-z]/.test(word) && word !== 'up') ?? '';
    const store = storeNamed(name.replace(/-cluster$/, ''));
    return { name, store, isCluster: name.endsWith('-cluster'), start, url };
  });
}

export function composeFiles(): readonly string[] {
  return readdirSync(FOLDER).filter((file) => file.endsWith('.yaml'));
}

/** Runs `docker compose` in its folder, and returns its output. Throws if it fails. */
export async function compose(args: readonly string[], options: Partial<Pick<OutcomeOptions, 'env' | 'timeoutMs'>> = {}): Promise<string> {
  const command = [...(await composeCommand()), ...args];
  const { status, output } = await outcomeOf(command, { cwd: FOLDER, timeoutMs: 30_000, ...options });
  if (status !== 0) throw new Error(`docker compose ${args.join(' ')}: ${output}`);
  return output;
}

function storeNamed(name: string): ComposeStore {
  for (const store of ['consul', 'etcd', 'postgres', 'redis', 'valkey', 'zookeeper'] as const) if (store === name) return store;
  throw new Error(`docker/README.md names no store: ${name}`);
}
