/**
 * `node main.ts [--algorithm NAME] [COMMAND …]`: five processes that elect among themselves, by
 * `quorum` or by best effort. Commands come from the terminal; those that are given as arguments
 * come first, one after the other, each when the cluster has settled.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Cluster } from './cluster.ts';
import { act, help, parse } from './commands.ts';
import { isName, names } from './elections.ts';

const SETTLES_WITHIN_MS = 20_000;
/** The views of members change within a few ms of each other. This prints them as one line. */
const GATHER_MS = 50;

const { values, positionals } = parseArgs({ allowPositionals: true, options: { algorithm: { type: 'string', default: 'quorum' } } });
const { algorithm } = values;
if (!isName(algorithm)) {
  console.error(`there is no election "${algorithm}": there are ${names.join(', ')}`);
  process.exit(2);
}

const beganMs = performance.now();
const folder = await mkdtemp(join(tmpdir(), 'incumbent-peer-cluster-'));
let isWatching = true;
let shown = '';
let gathering: NodeJS.Timeout | undefined;
const cluster = await Cluster.start(algorithm, ['a', 'b', 'c', 'd', 'e'], folder, (what) => {
  if (what === '') gathering ??= setTimeout(() => show(''), GATHER_MS);
  else show(what);
});

console.log(`${help}\n`);
const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
let isOver = false;
for (const line of positionals) {
  await settle();
  obey(line);
}
if (!isOver) {
  for await (const line of createInterface({ input: process.stdin, signal: stop.signal })) if (obey(line)) break;
}
await cluster.close();
clearTimeout(gathering);
await rm(folder, { recursive: true });

/** Carries out a command. True if it is the last one. */
function obey(line: string): boolean {
  const command = parse(line);
  if (command === undefined) console.log(help);
  else if (command.name === 'quit') isOver = true;
  else if (command.name === 'status') console.log(cluster.picture);
  else if (command.name === 'watch') {
    isWatching = !isWatching;
    console.log(isWatching ? 'watching' : 'no longer watching');
  } else {
    const trouble = act(cluster, command);
    if (trouble !== undefined) console.log(trouble);
  }
  return isOver;
}

/** Prints a line, if it has anything new. */
function show(what: string): void {
  const { picture } = cluster;
  clearTimeout(gathering);
  gathering = undefined;
  if (!isWatching || (what === '' && picture === shown)) return;
  shown = picture;
  const seconds = ((performance.now() - beganMs) / 1_000).toFixed(2).padStart(7);
  console.log(`${seconds} s  ${picture}${what === '' ? '' : `   (${what})`}`);
}

async function settle(): Promise<void> {
  const endMs = performance.now() + SETTLES_WITHIN_MS;
  while (!cluster.isSettled && performance.now() < endMs) await sleep(20);
}
