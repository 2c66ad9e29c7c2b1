/**
 * A command that elects: `etcdctl elect` and `consul lock`, a process for each campaign. It resigns
 * by SIGINT or SIGTERM, as its documentation says.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { speak, start, type Contestant } from './speak.ts';

const { url, namespace, mode } = start();
/** Where it is, as found by the harness. */
const program = process.env['BENCH_PROGRAM'] ?? '';

function run(name: string, as: string): ChildProcess {
  const key = `${namespace}/${name}`;
  const stdio = ['pipe', 'pipe', 'ignore'] as const;
  const env = { ...process.env, ETCDCTL_API: '3' };
  if (mode === 'etcdctl') return spawn(program, [`--endpoints=${url}`, 'elect', key, as], { stdio: [...stdio], env });
  // What it runs says that it runs, and waits for its end.
  return spawn(program, ['lock', `-http-addr=${url}`, '-shell=false', key, 'sh', '-c', 'echo leads; exec sleep 100000'], {
    stdio: [...stdio],
    env,
  });
}

const contestant: Contestant = {
  async campaign(name, as, lost) {
    const child = run(name, as);
    let leads = false;
    const ended = once(child, 'exit').then(() => {
      if (leads) lost('exit');
      leads = false;
    });
    process.once('exit', () => child.kill('SIGKILL'));
    if (child.stdout === null) throw new Error('no output');
    const lines = createInterface({ input: child.stdout });
    await Promise.race([once(lines, 'line'), ended]);
    if (child.exitCode !== null) throw new Error(`${program} exited with ${child.exitCode}`);
    leads = true;
    return {
      isLeader: () => leads,
      resign: async () => {
        leads = false;
        child.kill('SIGTERM');
        await ended;
      },
    };
  },
};

await speak(contestant);
