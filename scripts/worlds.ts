/** `node --conditions=@incumbent/source scripts/worlds.ts`: sums up what the ledger has of simulated worlds, as docs/verification/simulation.md. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Check } from '../test/integration/checks/check.ts';
import { peerBestEffort } from '../test/integration/checks/peer-best-effort.ts';
import { peerEmergent } from '../test/integration/checks/peer-emergent.ts';
import { peerSimulation } from '../test/integration/checks/peer-simulation.ts';
import { SEEDS, simulations } from '../test/integration/checks/simulation.ts';
import { FOLDER, date } from '../test/integration/ledger.ts';
import { PEERS_SINCE, runsPassed, SINCE } from '../test/integration/simulation/worlds.ts';

interface Row {
  readonly name: string;
  readonly runs: number;
  readonly passed: number;
}

function rowOf({ name, runs }: Check, since: string): Row {
  const page = new URL(`${name}.md`, FOLDER);
  return { name, runs, passed: existsSync(page) ? runsPassed(readFileSync(page, 'utf8'), SEEDS, since) : 0 };
}

function line(name: string, { passed, runs }: Omit<Row, 'name'>): string {
  return `| ${[name, passed * SEEDS, runs * SEEDS, Math.max(runs - passed, 0) * SEEDS].join(' | ')} |`;
}

const pageLine = (row: Row): string => line(`[${row.name}](${row.name}.md)`, row);

const rows = simulations.map((check) => rowOf(check, SINCE));
const all = {
  passed: rows.reduce((sum, row) => sum + Math.min(row.passed, row.runs), 0),
  runs: rows.reduce((sum, row) => sum + row.runs, 0),
};
const lines = [
  '# Simulated worlds',
  '',
  `Worlds that broke no promise, each seed once, in rows since ${SINCE} (UTC), when the silent faults came:`,
  'hanging disks, silent connections, several servers behind one address, the deleted entry of a leader.',
  'In rows with failures only what passed counts.',
  '',
  `Written by \`scripts/worlds.ts\`, ${date()}. One after the other, \`pnpm verify simulation-stormy --runs 20 --seed …\` and so on add to it.`,
  '',
  '| page | worlds | of | missing |',
  '|---|---|---|---|',
  ...rows.map(pageLine),
  line('all, none beyond its claim', all),
  '',
  `Those are elections over a store. Members that elect among themselves, in rows since ${PEERS_SINCE}:`,
  '',
  '| page | worlds | of | missing |',
  '|---|---|---|---|',
  ...[peerSimulation, ...peerBestEffort, peerEmergent].map((check) => pageLine(rowOf(check, PEERS_SINCE))),
  '',
];
writeFileSync(new URL('simulation.md', FOLDER), lines.join('\n'));
console.log(lines.join('\n'));
