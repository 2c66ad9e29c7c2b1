/** `node --conditions=@incumbent/source scripts/worlds.ts`: sums up what the ledger has of simulated worlds, as docs/verification/simulation.md. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Check } from '../test/integration/checks/check.ts';
import { peerBestEffort } from '../test/integration/checks/peer-best-effort.ts';
import { peerEmergent } from '../test/integration/checks/peer-emergent.ts';
import { peerSimulation } from '../test/integration/checks/peer-simulation.ts';
import { SEEDS, simulations } from '../test/integration/checks/simulation.ts';
import { FOLDER, date } from '../test/integration/ledger.ts';
import { runsPassed, SINCE } from '../test/integration/simulation/worlds.ts';

interface Row {
  readonly name: string;
  readonly runs: number;
  readonly passed: number;
}

function rowOf({ name, runs }: Check): Row {
  const page = new URL(`${name}.md`, FOLDER);
  return { name, runs, passed: existsSync(page) ? runsPassed(readFileSync(page, 'utf8'), SEEDS) : 0 };
}

function line(name: string, { passed, runs }: Omit<Row, 'name'>): string {
  return `| ${[name, passed * SEEDS, runs * SEEDS, Math.max(runs - passed, 0) * SEEDS].join(' | ')} |`;
}

const pageLine = (row: Row): string => line(`[${row.name}](${row.name}.md)`, row);

const rows = simulations.map(rowOf);
const all = {
  passed: rows.reduce((sum, row) => sum + Math.min(row.passed, row.runs), 0),
  runs: rows.reduce((sum, row) => sum + row.runs, 0),
};
const lines = [
  '# Simulated worlds',
  '',
  `Worlds that broke no promise, each seed once, in rows since ${SINCE} (UTC): from then on the checkers know every promise that they know today, but that who was`,
  'replaced stops, and that elections side by side do not disturb one another, which came on 2026-11-22. In rows with failures only what passed counts.',
  '',
  `Written by \`scripts/worlds.ts\`, ${date()}. One after the other, \`pnpm verify simulation-stormy --runs 20 --seed …\` and so on add to it.`,
  '',
  '| page | worlds | of | missing |',
  '|---|---|---|---|',
  ...rows.map(pageLine),
  line('all, none beyond its claim', all),
  '',
  'Elections over a store, those; members that elect among themselves:',
  '',
  '| page | worlds | of | missing |',
  '|---|---|---|---|',
  ...[peerSimulation, ...peerBestEffort, peerEmergent].map((check) => pageLine(rowOf(check))),
  '',
];
writeFileSync(new URL('simulation.md', FOLDER), lines.join('\n'));
console.log(lines.join('\n'));
