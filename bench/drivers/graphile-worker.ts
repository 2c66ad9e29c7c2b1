/**
 * npm graphile-worker: a job for each candidate, all in one named queue, whose jobs run one after
 * the other. The candidate whose job runs leads, and a job that ends makes way for the next one.
 * Workers poll every 2 s by default, because only a new job notifies them.
 */

import { Logger, run, type Runner } from 'graphile-worker';
import { speak, start, type Contestant, type HeldLeadership } from './speak.ts';

const { url, namespace } = start();
const logger = new Logger(() => () => {});
const runners = new Map<string, Promise<Runner>>();
const waiting = new Map<string, (leadership: HeldLeadership) => void>();

/** The task of a candidate runs only in its own process, so it has a name of its own. */
function taskOf(as: string): string {
  return `${namespace}/${as}`;
}

async function lead(as: string): Promise<void> {
  const over = Promise.withResolvers<void>();
  let isLeader = true;
  const resign = async (): Promise<void> => {
    isLeader = false;
    over.resolve();
  };
  waiting.get(as)?.({ isLeader: () => isLeader, resign });
  await over.promise;
}

function runnerOf(as: string): Promise<Runner> {
  const runner =
    runners.get(as) ?? run({ connectionString: url, noHandleSignals: true, logger, taskList: { [taskOf(as)]: () => lead(as) } });
  runners.set(as, runner);
  return runner;
}

const contestant: Contestant = {
  async campaign(election, as) {
    const elected = Promise.withResolvers<HeldLeadership>();
    waiting.set(as, elected.resolve);
    const runner = await runnerOf(as);
    await runner.addJob(taskOf(as), {}, { queueName: `${namespace}/${election}`, maxAttempts: 1 });
    return elected.promise;
  },
};

await speak(contestant);
