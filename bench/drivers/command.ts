/**
 * The commands `etcdctl elect` and `consul lock`, with a process for each campaign. A process
 * resigns on SIGINT or SIGTERM, as documented.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { speak, start, type Contestant } from './speak.ts';

const { url, namespace, mode } = start();
/** The path of the program, as the harness found it. */
const program = process.env['BENCH_PROGRAM'] ?? '';

function run(name: string, as: string): ChildProcess {
  const key = `${namespace}/${name}`;
  const stdio = ['pipe', 'pipe', 'ignore'] as const;
  const env = { ...process.env, ETCDCTL_API: '3' };
  if (mode === 'etcdctl') return spawn(program, [`--endpoints=${url}`, 'elect', key, as], { stdio: [...stdio], env });
  // The program that it runs reports its start and waits for its end.
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
