import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { Readable } from 'node:stream';

/**
 * Starts the command, and ends it when this script's standard input closes. The parent process
 * holds the other end, so the system closes it however the parent ends, even by SIGKILL. File
 * descriptor 3 reports the command's own process id, because signals must reach the command and not
 * this shell. Only the folder of an orphaned command is removed here, because otherwise another
 * command may start with it: in that case the watcher has ended by itself with status 0. The
 * command's children are killed as well, because children that are stopped would stay for ever. The
 * shell's own messages about jobs are discarded.
 */
const SUPERVISOR = `
exec 4<&0
"$@" </dev/null 3>&- 4<&- &
command=$!
echo "$command" >&3
exec 3>&- 2>/dev/null
{
  while read -r _; do :; done <&4
  trap '' TERM
  children=
  read -r children <"/proc/$command/task/$command/children"
  kill -KILL "$command" $children
} >/dev/null &
watcher=$!
wait "$command"
status=$?
kill "$watcher"
wait "$watcher" 2>/dev/null && [ -n "$SUPERVISED_FOLDER" ] && rm -rf -- "$SUPERVISED_FOLDER"
exit "$status"
`;

export interface SuperviseOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /**
   * The target of the command's output: 'pipe' to read it here, or the descriptor of an open file.
   */
  readonly stdout: 'pipe' | number;
  readonly stderr: 'pipe' | number;
  /** A folder to remove if this process dies before the command. */
  readonly folder?: string;
}

/** How a command ended: its exit status, or 128 plus the number of the signal. */
export type ExitStatus = number;

export interface Supervised {
  /** The command's own process id. */
  readonly pid: number;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  readonly running: boolean;
  /** Resolves when the command has ended; never rejects. */
  readonly exited: Promise<ExitStatus>;
  /** Sends the command a signal. Does nothing if it has ended. */
  signal(name: NodeJS.Signals): void;
}

/** Runs a command that ends with this process, however this process ends. Needs a POSIX shell. */
export async function supervise(command: string, args: readonly string[], options: SuperviseOptions): Promise<Supervised> {
  const { env = process.env, cwd, stdout, stderr, folder = '' } = options;
  const shell = spawn('/bin/sh', ['-c', SUPERVISOR, 'supervisor', command, ...args], {
    stdio: ['pipe', stdout, stderr, 'pipe'],
    env: { ...env, SUPERVISED_FOLDER: folder },
    cwd,
    // In a process group of its own, so that a signal to this process's group (Ctrl-C, or a test
    // runner's) does not end it early.
    detached: true,
  });
  // The shell may have ended before its input is closed.
  shell.stdin?.on('error', () => {});
  const exited = statusOf(shell);
  const pid = await pidFrom(shell);
  const isRunning = (): boolean => shell.exitCode === null && shell.signalCode === null;
  return {
    pid,
    stdout: shell.stdout,
    stderr: shell.stderr,
    get running() {
      return isRunning();
    },
    exited,
    signal(name) {
      if (isRunning()) send(pid, name);
    },
  };
}

async function statusOf(shell: ChildProcess): Promise<ExitStatus> {
  const { promise, resolve } = Promise.withResolvers<ExitStatus>();
  shell.once('exit', (code) => resolve(code ?? 255));
  shell.once('error', () => resolve(255));
  return promise;
}

async function pidFrom(shell: ChildProcess): Promise<number> {
  await once(shell, 'spawn');
  const channel = shell.stdio[3];
  if (channel === null || channel === undefined || !('read' in channel)) throw new Error('the supervisor has no channel');
  const pid = Number(await text(channel));
  if (!Number.isInteger(pid) || pid <= 0) throw new Error('the supervisor started nothing');
  return pid;
}

function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // The command has just ended, and the shell has not reported it yet.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
