/** Rolling deployments, with and without a succession by version. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onServer, type Check } from './check.ts';
import { DeployedFleet } from './deployment.ts';
import type { Host } from './hosts.ts';
import { freshNamespace, storeUrl } from './pair.ts';

const PROCESSES = 10;

/** The same items in a random order. */
function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  return items
    .map((item) => ({ item, key: random() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

export function rollingDeploy(host: Host): Check {
  return {
    name: `${host.prefix}rolling-deploy`,
    claim: `With \`byVersion(version, 'newest')\`, a rolling deployment of ${PROCESSES} processes changes leaders once, in whatever order it stops the old processes.`,
    method:
      `${PROCESSES} processes of version 1.9.0 on one ${host.store}, with the default timings, on the packages as they are built. A deployment replaces them one by one: it starts a process of the next version, waits until ` +
      'this process is in the queue, and then stops an old process by SIGTERM. The first deployment (to 1.10.0) stops the old processes in the order in which they joined, ' +
      'the second one (to 2.0.0) in a random order. Each process campaigns in three elections at the same time, which differ only in their succession: newest and oldest (`byVersion`), and ' +
      'plain (the default). The figures are the changes of leaders in each of them. With oldest, no new process may lead before the last old one is stopped; it does not save changes. ' +
      "The history of all processes is checked: never two leaders. A vacancy lasts from the abort of a leader's signal to the election of the next leader; medianVacancyMs and vacancyMs: the median and the longest one of all elections. " +
      'loneVacancyMs: the longest one of another deployment, whose processes campaign in one election (plain) each.',
    runs: 10,
    parallel: 1,
    open: onServer(
      async () => {
        // Thirty processes start in each run. From the sources, that would take most of the time.
        execFileSync(process.execPath, [fileURLToPath(new URL('../../../scripts/bundle.ts', import.meta.url))]);
        return host.start();
      },
      async (server, { random }) => {
        await using fleet = new DeployedFleet(storeUrl([server.url], freshNamespace(), host.store), { built: true });
        await fleet.start(PROCESSES, '1.9.0');
        const joined = await fleet.deploy('1.10.0', (old) => old);
        const drawn = await fleet.deploy('2.0.0', (old) => shuffled(old, random));
        await fleet.finish();
        await using lone = new DeployedFleet(storeUrl([server.url], freshNamespace(), host.store), { built: true, elections: ['plain'] });
        await lone.start(PROCESSES, '1.9.0');
        const { vacanciesMs: loneMs } = await lone.deploy('1.10.0', (old) => old);
        await lone.finish();
        const vacanciesMs = [...joined.vacanciesMs, ...drawn.vacanciesMs].toSorted((a, b) => a - b);
        assert.deepEqual([joined.changes.newest, drawn.changes.newest], [1, 1]);
        return {
          figures: {
            newestJoined: joined.changes.newest,
            newestRandom: drawn.changes.newest,
            oldestJoined: joined.changes.oldest,
            oldestRandom: drawn.changes.oldest,
            plainJoined: joined.changes.plain,
            plainRandom: drawn.changes.plain,
            medianVacancyMs: vacanciesMs[Math.floor(vacanciesMs.length / 2)] ?? NaN,
            vacancyMs: vacanciesMs.at(-1) ?? NaN,
            loneVacancyMs: Math.max(...loneMs),
          },
        };
      },
    ),
  };
}
