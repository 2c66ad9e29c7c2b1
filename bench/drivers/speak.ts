/**
 * The protocol of a driver: commands come in, events go out, a line of JSON each. A driver ends
 * when its standard input does.
 */

import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { emit } from './emit.ts';

/** What a driver is started with. */
export interface Start {
  readonly url: string;
  /** Where its keys go: every run has one of its own. */
  readonly namespace: string;
  readonly ttlMs: number;
  /** A contestant may come in several manners: `resign`, `handover`, `raw`. */
  readonly mode: string;
}

export interface Held {
  isLeader(): boolean;
  /** Gives leadership up; resolves when the library says that it has. */
  resign(): Promise<void>;
}

/** A library, as a driver of it is asked to use it. */
export interface Contestant {
  /**
   * Resolves when elected. Candidates of one name, `as`, share a session where the library can.
   * `lost` is called if it tells of a loss.
   */
  campaign(election: string, as: string, lost: (reason: string) => void): Promise<Held>;
  /** Calls `told` with each leader that the library's own observer tells of. */
  observe?(election: string, told: (leader: string) => void): Promise<void>;
}

interface Command {
  readonly do: 'campaign' | 'resign' | 'observe' | 'reportLeading' | 'collect';
  readonly election: string;
  readonly as: string;
  /** How many observers. */
  readonly times: number;
}

/** How often a leader that was told to `reportLeading` asks itself whether it leads. */
const SAMPLE_MS = 5;

export function start(): Start {
  const { values } = parseArgs({
    options: { url: { type: 'string' }, namespace: { type: 'string' }, ttl: { type: 'string' }, mode: { type: 'string' } },
  });
  const { url = '', namespace = 'bench', ttl = '10000', mode = '' } = values;
  return { url, namespace, ttlMs: Number(ttl), mode };
}

/** Does what it is told until its standard input ends. */
export async function speak(contestant: Contestant): Promise<void> {
  const held = new Map<string, Held>();
  const tell = (command: Command): void => {
    const { election, as } = command;
    void obey(contestant, held, command).catch((error: unknown) => emit('failed', { election, as, error: String(error) }));
  };
  emit('ready');
  for await (const line of createInterface({ input: process.stdin })) {
    const command = parse(line);
    if (command !== undefined) tell(command);
  }
  process.exit(0);
}

async function obey(contestant: Contestant, held: Map<string, Held>, { do: what, election, as, times }: Command): Promise<void> {
  const key = `${election}/${as}`;
  const since = process.hrtime.bigint();
  switch (what) {
    case 'campaign': {
      const lost = (reason: string): void => emit('lost', { election, as, reason });
      held.set(key, await contestant.campaign(election, as, lost));
      return emit('leads', { election, as, since });
    }
    case 'resign': {
      const leadership = held.get(key);
      held.delete(key);
      await leadership?.resign();
      return emit('resigned', { election, as, since });
    }
    case 'observe': {
      const told = tellOfAll(times, (leader) => emit('told', { election, as, leader }));
      await Promise.all(Array.from({ length: times }, async () => contestant.observe?.(election, told)));
      return emit('observes', { election, as, since });
    }
    case 'reportLeading':
      setInterval(() => {
        // The library considered itself leader at some moment after this timestamp.
        const from = process.hrtime.bigint();
        if (held.get(key)?.isLeader() === true) emit('leading', { election, as, from });
      }, SAMPLE_MS);
      return;
    case 'collect':
      // The thorough kind, which gives memory back as V8 would where it is short.
      global.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
      return emit('collected', { ...process.memoryUsage() });
    default:
      return what satisfies never;
  }
}

/**
 * Calls `tell` when the last of so many observers has been told of a leader: a line for each of
 * 5,000 would be what is measured.
 */
function tellOfAll(observers: number, tell: (leader: string) => void): (leader: string) => void {
  const counts = new Map<string, number>();
  return (leader) => {
    const count = (counts.get(leader) ?? 0) + 1;
    counts.set(leader, count % observers);
    if (count === observers) tell(leader);
  };
}

const COMMANDS: ReadonlySet<string> = new Set(['campaign', 'resign', 'observe', 'reportLeading', 'collect']);

function isCommand(value: unknown): value is Command {
  return typeof value === 'object' && value !== null && 'do' in value && typeof value.do === 'string' && COMMANDS.has(value.do);
}

function parse(line: string): Command | undefined {
  const value: unknown = JSON.parse(line);
  return isCommand(value) ? value : undefined;
}
