/**
 * How other commands that run a program under a lock behave, for comparison with `incumbent run`.
 */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  programsOf,
  spawnScript,
  startConsul,
  startEtcd,
  startProxy,
  type ConsulServer,
  type EtcdServer,
  type ScriptProcess,
} from '@incumbent/test-support';
import type { Check, Figures } from './check.ts';
import { at, freshNamespace, storeUrl } from './pair.ts';

const TOOL = new URL('../tool.ts', import.meta.url);
const MAIN = fileURLToPath(new URL('../../../packages/cli/src/main.ts', import.meta.url));
const NODE = [process.execPath, '--conditions=@incumbent/source', '--disable-warning=ExperimentalWarning'];
const BEATING = [...NODE, fileURLToPath(new URL('../beating.ts', import.meta.url))];
/**
 * `consul lock` has a session of 15 s, which ends within twice that, and a lock delay of another 15
 * s.
 */
const WAIT_MS = 90_000;
/** How long to watch whether the former program continues after the next one has begun, in ms. */
const WATCHED_MS = 3_000;

interface Peer {
  readonly name: 'consulLock' | 'etcdctlLock' | 'run';
  /** The URL of its server, which may go through a proxy. */
  readonly url: string;
  command(url: string, lock: string, program: readonly string[]): readonly string[];
}

async function peers(consul: ConsulServer, etcd: EtcdServer): Promise<readonly Peer[]> {
  const [consulTool, etcdTool] = [`${await programsOf('consul')}/consul`, `${await programsOf('etcd')}/etcdctl`];
  return [
    {
      name: 'consulLock',
      url: consul.url,
      command: (url, lock, program) => [consulTool, 'lock', `-http-addr=${url}`, '-shell=false', lock, ...program],
    },
    {
      name: 'etcdctlLock',
      url: etcd.url,
      command: (url, lock, program) => [etcdTool, `--endpoints=${url}`, 'lock', '--ttl=5', lock, '--', ...program],
    },
    {
      name: 'run',
      url: etcd.url,
      command: (url, lock, program) => [
        ...NODE,
        MAIN,
        'run',
        '-q',
        '--store',
        storeUrl([url], lock),
        '--election',
        'x',
        '--ttl',
        '5s',
        '--',
        ...program,
      ],
    },
  ];
}

async function start(command: readonly string[]): Promise<ScriptProcess> {
  return spawnScript(TOOL, { args: command, env: { ETCDCTL_API: '3' } });
}

function signal(script: ScriptProcess, name: NodeJS.Signals): void {
  const pid = script.events.find(({ event }) => event === 'tool')?.fields['pid'];
  process.kill(Number(pid), name);
}

/** Ends what a tool may have left behind. */
function cleanUp(script: ScriptProcess): void {
  for (const { event, fields } of script.events) {
    if (event !== 'started' && event !== 'tool') continue;
    for (const pid of [fields['pid'], fields['child']]) {
      try {
        if (typeof pid === 'number') process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
  }
}

async function exitCode({ command, url }: Peer, script: string): Promise<number> {
  await using tool = await start(command(url, freshNamespace(), ['sh', '-c', script]));
  const { fields } = await tool.waitFor('toolEnded', { withinMs: WAIT_MS });
  return Number(fields['code']);
}

/**
 * How long two programs ran at the same time, in ms, up to the end of the watch. `harm` affects the
 * first one or its link.
 */
async function overlap({ command, url }: Peer, harm: 'pause' | 'cut'): Promise<number> {
  const lock = freshNamespace();
  await using proxy = await startProxy(url);
  await using a = await start(command(proxy.url, lock, BEATING));
  await a.waitFor('beat', { withinMs: WAIT_MS });
  await using b = await start(command(url, lock, BEATING));
  await sleep(2_000);
  if (harm === 'pause') signal(a, 'SIGSTOP');
  else proxy.blackhole();
  const next = await b.waitFor('started', { withinMs: WAIT_MS });
  await sleep(WATCHED_MS);
  const last = a.events.findLast(({ event }) => event === 'beat');
  cleanUp(a);
  cleanUp(b);
  return last === undefined ? 0 : Math.max(at(last) - at(next), 0);
}

/**
 * Whether the program continues two seconds after SIGHUP has ended its parent, and whether it
 * received a number. 1 means yes.
 */
async function orphans({ command, url }: Peer): Promise<{ readonly runsOn: number; readonly numbered: number }> {
  await using tool = await start(command(url, freshNamespace(), BEATING));
  await tool.waitFor('beat', { withinMs: WAIT_MS });
  signal(tool, 'SIGHUP');
  await sleep(2_000);
  const ended = tool.events.find(({ event }) => event === 'toolEnded');
  const last = tool.events.findLast(({ event }) => event === 'beat');
  cleanUp(tool);
  const runsOn = ended !== undefined && last !== undefined && at(last) - at(ended) > 1_000;
  const numbered = tool.events.some(({ event, fields }) => event === 'started' && fields['numbered'] === true);
  return { runsOn: Number(runsOn), numbered: Number(numbered) };
}

async function figuresOf(peer: Peer): Promise<Figures> {
  const [pausedMs, cutMs] = await Promise.all([overlap(peer, 'pause'), overlap(peer, 'cut')]);
  const orphaned = await orphans(peer);
  return {
    [`${peer.name}Exit42`]: await exitCode(peer, 'exit 42'),
    [`${peer.name}Killed`]: await exitCode(peer, 'kill -KILL $$'),
    [`${peer.name}Orphans`]: orphaned.runsOn,
    [`${peer.name}Numbered`]: orphaned.numbered,
    [`${peer.name}PausedOverlapMs`]: pausedMs,
    [`${peer.name}CutOverlapMs`]: cutMs,
  };
}

export const runPeers: Check = {
  name: 'run-peers',
  claim: 'Where `consul lock` and `etcdctl lock` let two programs run, or hide how one ended, `incumbent run` does not.',
  method:
    'Each command runs the same program on a server of its own. Exit42, Killed: its exit code when the program says `exit 42`, or kills itself by SIGKILL. Orphans: whether the program ' +
    'runs on when SIGHUP has ended the command. Numbered: whether its environment has a number to send along. Overlap: for how long the program goes on beside the next one, of 3 s that are watched, when its command is paused by SIGSTOP, and when its link is blackholed. ' +
    'Asserted of `run` alone: 42, 137, 0, 1, 0, 0.',
  runs: 1,
  parallel: 1,
  open: async () => {
    const [consul, etcd] = [await startConsul(), await startEtcd()];
    return {
      run: async () => {
        const all = await peers(consul, etcd);
        const figures: Figures = Object.assign({}, ...(await Promise.all(all.map(figuresOf))));
        const own = Object.entries(figures).flatMap(([name, value]) => (name.startsWith('run') ? [value] : []));
        assert.deepEqual(own, [42, 137, 0, 1, 0, 0]);
        return { figures };
      },
      [Symbol.asyncDispose]: async () => {
        await consul.stop();
        await etcd.stop();
      },
    };
  },
};
