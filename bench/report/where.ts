/** The environment of a run. */

import { execFileSync } from 'node:child_process';
import { arch, cpus, loadavg, platform, release } from 'node:os';

/** Now, in UTC. */
export function date(): string {
  return `${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** The commit that was measured, with a + if the tree had changes other than the results. */
export function commit(): string {
  const git = (...args: readonly string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain', '--', ':(top)', ':(top,exclude)bench/RESULTS.md', ':(top,exclude)bench/charts');
  return `${git('rev-parse', '--short', 'HEAD')}${changed === '' ? '' : '+'}`;
}

/**
 * How many processes wanted a processor lately. If more than there are processors, single times say
 * little.
 */
export function load(): string {
  return loadavg()
    .map((value) => value.toFixed(1))
    .join(', ');
}

export function machine(): string {
  const [cpu] = cpus();
  const options = process.env['BENCH_NODE_OPTIONS'];
  return `${platform()} ${release().split('-')[0]} ${arch()}, ${cpus().length} × ${cpu?.model.trim() ?? 'unknown'}, Node ${process.versions.node}${options === undefined ? '' : ` with ${options}`}`;
}
