/** The commands for the cluster. */

import type { Cluster } from './cluster.ts';

export const help: string = [
  'kill ID     end a process, with no chance to say anything (SIGKILL)',
  'pause ID    stop a process, as a machine that is suspended would be (SIGSTOP)',
  'cut ID      pull its network cable',
  'resume ID   undo what was done to it; without ID, to all',
  'status      everybody, in one line',
  'watch       a line for each change: on, or off',
  'quit        end them, one after the other',
  'ID is one of a b c d e, or "leader".',
].join('\n');

const commands = ['kill', 'pause', 'cut', 'resume', 'status', 'watch', 'quit'] as const;

export interface Command {
  readonly name: (typeof commands)[number];
  readonly id: string | undefined;
}

/** Undefined if the line is not a command. */
export function parse(line: string): Command | undefined {
  const [word, id, ...more] = line.trim().split(/\s+/);
  const name = commands.find((one) => one === word);
  const takesId = name === 'kill' || name === 'pause' || name === 'cut';
  if (name === undefined || more.length > 0 || (id === undefined) === takesId) return undefined;
  return id !== undefined && !takesId && name !== 'resume' ? undefined : { name, id };
}

/** Carries out a command on members. Returns the reason if it is impossible. */
export function act(cluster: Cluster, { name, id }: Command): string | undefined {
  const named = id === 'leader' ? cluster.leader : id;
  if (name === 'resume' && id === undefined) for (const one of cluster.ids) cluster.resume(one);
  if (id === undefined) return undefined;
  if (named === undefined) return 'nobody leads now';
  if (!cluster.ids.includes(named)) return `there is no member "${named}"`;
  if (name === 'kill' || name === 'pause' || name === 'cut' || name === 'resume') cluster[name](named);
  return undefined;
}
