/**
 * The protocol of a driver: commands on standard input, events on standard output, one line of JSON
 * each. A driver ends when its standard input closes.
 */

import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { emit } from './emit.ts';

/** The arguments of a driver. */
export interface Start {
  readonly url: string;
  /** The prefix of its keys. Every run has its own. */
  readonly namespace: string;
  readonly ttlMs: number;
  /** The mode of the contestant, such as `resign`, `handover` or `raw`. */
  readonly mode: string;
}

export interface HeldLeadership {
  isLeader(): boolean;
  /** Ends the leadership. Resolves when the library reports that it has ended. */
  resign(): Promise<void>;
  /** Resolves when the leader stops considering itself leader, if the library tells that. */
  readonly stopped?: Promise<unknown>;
}

/** A library, as a driver uses it. */
export interface Contestant {
  /**
   * Resolves when elected. Candidates with the same name, `as`, share a session if the library can.
   * `lost` is called if the library reports a loss.
   */
  campaign(election: string, as: string, lost: (reason: string) => void): Promise<HeldLeadership>;
  /** Calls `told` with each leader that the library's own observer reports. */
  observe?(election: string, told: (leader: string) => void): Promise<void>;
}

interface Command {
  readonly do: 'campaign' | 'resign' | 'observe' | 'reportLeading' | 'collect';
  readonly election: string;
  readonly as: string;
  /** How many observers. */
  readonly times: number;
}

/** How often a leader that received `reportLeading` checks whether it leads, in ms. */
const SAMPLE_MS = 5;

export function start(): Start {
  const { values } = parseArgs({
    options: { url: { type: 'string' }, namespace: { type: 'string' }, ttl: { type: 'string' }, mode: { type: 'string' } },
  });
  const { url = '', namespace = 'bench', ttl = '10000', mode = '' } = values;
  return { url, namespace, ttlMs: Number(ttl), mode };
}

/** Carries out commands until its standard input ends. */
export async function speak(contestant: Contestant): Promise<void> {
  const held = new Map<string, HeldLeadership>();
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

async function obey(contestant: Contestant, held: Map<string, HeldLeadership>, { do: what, election, as, times }: Command): Promise<void> {
  const key = `${election}/${as}`;
  const since = process.hrtime.bigint();
  switch (what) {
    case 'campaign': {
      const lost = (reason: string): void => emit('lost', { election, as, reason });
      const leadership = await contestant.campaign(election, as, lost);
      held.set(key, leadership);
      void leadership.stopped?.then(() => emit('stopped', { election, as }));
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
      // The most thorough collection, which returns memory to the system as V8 does when memory is
      // short.
      global.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
      return emit('collected', { ...process.memoryUsage() });
    default:
      return what satisfies never;
  }
}

/**
 * Calls `tell` when the last observer has seen a leader. A line for each of 5,000 observers would
 * change the measurement.
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
