/** `incumbent run` in a process of its own, paused while it leads. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { groupIsGone } from '@incumbent/reaper';
import { spawnScript, startEtcd, until, type ScriptProcess } from '@incumbent/test-support';
import { now } from '../history.ts';
import type { Check } from './check.ts';
import { at, freshNamespace, WAIT_MS, storeUrl, TTL_MS } from './pair.ts';

const MAIN = new URL('../../../packages/cli/src/main.ts', import.meta.url);
const BEATING = fileURLToPath(new URL('../beating.ts', import.meta.url));

async function startRun(store: string, member: string): Promise<ScriptProcess> {
  const program = [process.execPath, '--conditions=@incumbent/source', '--disable-warning=ExperimentalWarning', BEATING];
  const args = ['run', '--election', 'controller', '--member', member, '--ttl', `${TTL_MS}ms`, '--', ...program];
  return spawnScript(MAIN, { args, env: { INCUMBENT_STORE: store } });
}

/** The time of the last heartbeat of the process's programs, in ms. */
function lastBeat(run: ScriptProcess): number {
  const beat = run.events.findLast(({ event }) => event === 'beat');
  return beat === undefined ? -Infinity : at(beat);
}

async function waitUntilWaiting(run: ScriptProcess): Promise<void> {
  await until(() => run.output.some((line) => line.includes('joined the queue') || line.includes('waits to lead')), {
    what: 'the second process waits',
    withinMs: WAIT_MS,
  });
}

export const runPaused: Check = {
  name: 'run-paused',
  claim: 'When `incumbent run` is stopped by SIGSTOP, its program is dead before another one leads.',
  method:
    `Two processes of \`incumbent run\`, ttl ${TTL_MS} ms, on one etcd; the first, and not its program, is stopped at a random phase of its renewals. The program and a child of ` +
    'its own, both deaf to SIGTERM, say every 5 ms that they live. margin: from the last such word to the start of the next program, as that says it itself.',
  runs: 20,
  parallel: 2,
  open: async () => {
    const server = await startEtcd();
    return {
      run: async (_index, { random }) => {
        const store = storeUrl([server.url], freshNamespace());
        await using a = await startRun(store, 'a');
        await a.waitFor('beat', { withinMs: WAIT_MS });
        await using b = await startRun(store, 'b');
        await waitUntilWaiting(b);
        // The candidate is in the queue shortly after the message.
        await sleep(1_000 + random() * TTL_MS * 0.4);
        const stoppedAt = now();
        a.sigstop();
        const next = await b.waitFor('started', { withinMs: WAIT_MS });
        const marginMs = at(next) - lastBeat(a);
        const groups = a.events.flatMap(({ event, fields }) => (event === 'started' ? [Number(fields['group'])] : []));
        assert.ok(marginMs > 0, `two programs for ${-marginMs} ms`);
        assert.deepEqual(
          groups.filter((id) => !groupIsGone(id)),
          [],
          'a process of its group is still alive',
        );
        a.sigcont();
        return { figures: { marginMs, failoverMs: at(next) - stoppedAt } };
      },
      [Symbol.asyncDispose]: async () => server.stop(),
    };
  },
};
