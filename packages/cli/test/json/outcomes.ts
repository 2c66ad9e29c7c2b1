/** Every outcome of every command that has `--json`. */

import { type Leadership, type Store, StoreError } from '@incumbent/core';
import { openMemory } from '@incumbent/memory';

import type { TestConsole } from '../support/test-console.ts';

export interface Outcome {
  /** The command line without `--json`. */
  readonly line: readonly string[];
  readonly title: string;
  readonly exitCode: number;
  /** The error's code, if the last line is an error. */
  readonly error?: string;
  readonly maxLines?: number;
  /** Prepares the store; may return another way to open it. */
  readonly given?: (console: TestConsole) => Promise<OpenStore | void>;
}

type OpenStore = (url: string) => Promise<Store>;

const never = new Promise<void>(() => {});

async function leads(console: TestConsole): Promise<void> {
  await console.leads('web-1', 'db', { url: 'http://a', list: [1, null] });
  await console.waits('web-2', 'db', 'text');
}

async function hasLed(console: TestConsole): Promise<void> {
  await (await console.leads('web-1')).resign();
}

/** The leader's work does not stop, so its entry stays for the whole drain. */
async function stops(console: TestConsole): Promise<void> {
  const leadership = await console.leads('web-1');
  leadership.waitUntil(never);
  await console.delete('elections/db/leader');
}

async function follows(console: TestConsole): Promise<Leadership> {
  const leadership = await console.leads('web-1');
  leadership.waitUntil(leadership.ended);
  await console.waits('web-2');
  return leadership;
}

/** The leader takes as long as it may to stop. */
async function followsSlowly(console: TestConsole): Promise<void> {
  (await console.leads('web-1')).waitUntil(never);
  await console.waits('web-2');
}

async function joins(console: TestConsole): Promise<void> {
  await (await console.member('web-1')).group('brokers', { value: { url: 'http://a' } }).join();
  await (await console.member('web-2')).group('brokers').join();
}

async function foreign(console: TestConsole): Promise<void> {
  await console.leads('web-1');
  await console.write('elections/db/leader', 'hello');
}

async function down(): Promise<OpenStore> {
  return async () => {
    throw new StoreError('UNREACHABLE', 'notSent', 'no server answers');
  };
}

async function weak(console: TestConsole): Promise<void> {
  console.keep(await openMemory({ name: console.name, server: { linearizable: false } }));
}

/** A store whose nth read of the last term comes after `event`. */
function before(count: number, event: () => Promise<unknown>): OpenStore {
  let reads = 0;
  return async (url) => {
    const store = await openMemory(url);
    const read: Store['read'] = async (key, options) => {
      if (key.endsWith('/term') && (reads += 1) === count) await event();
      return store.read(key, options);
    };
    return new Proxy(store, {
      get(target, name): unknown {
        if (name === 'read') return read;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  };
}

/** The term ends after the command has read it. */
async function endsMeanwhile(console: TestConsole): Promise<OpenStore> {
  const leadership = await follows(console);
  return before(2, async () => leadership.resign());
}

/** The chosen candidate leaves while the leader stops. */
async function loses(console: TestConsole, others: readonly string[]): Promise<OpenStore> {
  (await console.leads('web-1')).waitUntil(never);
  const chosen = await console.waits('web-2');
  for (const other of others) await console.waits(other);
  return before(3, async () => chosen.close());
}

const named = (command: string, ...options: readonly string[]): readonly Outcome[] => [
  { line: [command, 'a/b', ...options], title: 'with an invalid name', exitCode: 2, error: 'INVALID_NAME' },
  { line: [command], title: 'without its arguments', exitCode: 2, error: 'USAGE' },
  { line: [command, 'db', ...options], title: 'on a store that is down', exitCode: 3, error: 'UNREACHABLE', given: down },
];

const foreignData = { title: 'on foreign data', exitCode: 3, error: 'FOREIGN_DATA', given: foreign } as const;

const reads: readonly Outcome[] = [
  { line: ['leader', 'db'], title: 'with a leader', exitCode: 0, given: leads },
  { line: ['leader', 'db'], title: 'before the first term', exitCode: 1 },
  { line: ['leader', 'db'], title: 'after a term', exitCode: 1, given: hasLed },
  { line: ['leader', 'db'], title: 'while the last leader stops', exitCode: 1, given: stops },
  { line: ['leader', 'db'], ...foreignData },
  ...named('leader'),
  { line: ['candidates', 'db'], title: 'with candidates', exitCode: 0, given: leads },
  { line: ['candidates', 'db'], title: 'while the last leader stops', exitCode: 0, given: stops },
  { line: ['candidates', 'db'], title: 'without candidates', exitCode: 1 },
  ...named('candidates'),
  { line: ['status'], title: 'with a leader', exitCode: 0, given: leads },
  { line: ['status'], title: 'after a term', exitCode: 0, given: hasLed },
  { line: ['status'], title: 'while the last leader stops', exitCode: 0, given: stops },
  { line: ['status'], title: 'without elections', exitCode: 0 },
  { line: ['status', 'db'], title: 'of an election that never was', exitCode: 0 },
  { line: ['status'], title: 'with an unreadable election', exitCode: 3, given: foreign },
  { line: ['status', '--bogus'], title: 'with an unknown option', exitCode: 2, error: 'USAGE' },
  { line: ['status'], title: 'on a store that is down', exitCode: 3, error: 'UNREACHABLE', given: down },
  { line: ['groups'], title: 'with members', exitCode: 0, given: joins },
  { line: ['groups'], title: 'without members', exitCode: 0 },
  { line: ['groups', 'a/b'], title: 'with an invalid name', exitCode: 2, error: 'INVALID_NAME' },
  { line: ['groups'], title: 'on a store that is down', exitCode: 3, error: 'UNREACHABLE', given: down },
  { line: ['watch', 'db'], title: 'with a leader', exitCode: 0, given: leads, maxLines: 1 },
  { line: ['watch', 'db'], title: 'before the first term', exitCode: 0, maxLines: 1 },
  { line: ['watch', 'db'], title: 'after a term', exitCode: 0, given: hasLed, maxLines: 1 },
  { line: ['watch', 'db'], ...foreignData },
  ...named('watch'),
];

const changes: readonly Outcome[] = [
  { line: ['resign', 'db'], title: 'with a successor', exitCode: 0, given: async (console) => void (await follows(console)) },
  { line: ['resign', 'db'], title: 'without a successor', exitCode: 0, given: async (console) => void (await console.leads('web-1')) },
  { line: ['resign', 'db'], title: 'without a leader', exitCode: 1, error: 'NOBODY_LEADS' },
  { line: ['resign', 'db', '--term', '7'], title: 'of another term', exitCode: 1, error: 'OTHER_TERM', given: leads },
  { line: ['resign', 'db'], title: 'of a term that has ended', exitCode: 1, error: 'TERM_OVER', given: endsMeanwhile },
  { line: ['resign', 'db', '--timeout', '0'], title: 'not in time', exitCode: 1, error: 'NOT_IN_TIME', given: followsSlowly },
  ...named('resign'),
  {
    line: ['handover', 'db', '--to', 'web-2'],
    title: 'to a candidate',
    exitCode: 0,
    given: async (console) => void (await follows(console)),
  },
  { line: ['handover', 'db', '--to', 'web-1'], title: 'to the leader', exitCode: 0, given: leads },
  { line: ['handover', 'db', '--to', 'web-2'], title: 'without a leader', exitCode: 1, error: 'NOBODY_LEADS' },
  { line: ['handover', 'db', '--to', 'web-2', '--term', '7'], title: 'of another term', exitCode: 1, error: 'OTHER_TERM', given: leads },
  { line: ['handover', 'db', '--to', 'web-9'], title: 'to no candidate', exitCode: 1, error: 'NO_SUCH_CANDIDATE', given: leads },
  { line: ['handover', 'db', '--to', 'web-2'], title: 'of a term that has ended', exitCode: 1, error: 'TERM_OVER', given: endsMeanwhile },
  {
    line: ['handover', 'db', '--to', 'web-2', '--timeout', '0'],
    title: 'not in time',
    exitCode: 1,
    error: 'WITHDRAWN',
    given: followsSlowly,
  },
  {
    line: ['handover', 'db', '--to', 'web-2'],
    title: 'to a candidate that leaves',
    exitCode: 1,
    error: 'NO_SUCCESSOR',
    given: async (console) => loses(console, []),
  },
  {
    line: ['handover', 'db', '--to', 'web-2'],
    title: 'to a candidate that leaves before another one',
    exitCode: 1,
    error: 'OTHER_SUCCESSOR',
    given: async (console) => loses(console, ['web-3']),
  },
  ...named('handover', '--to', 'web-2'),
  { line: ['lower-term-unsafely', 'db', '--from', '2', '--to', '1'], title: 'of the last term', exitCode: 0, given: hasLedTwice },
  {
    line: ['lower-term-unsafely', 'db', '--from', '2', '--to', '1'],
    title: 'of another term',
    exitCode: 1,
    error: 'NOT_LAST_TERM',
    given: leads,
  },
  ...named('lower-term-unsafely', '--from', '2', '--to', '1'),
];

async function hasLedTwice(console: TestConsole): Promise<void> {
  await hasLed(console);
  await console.leads('web-2');
}

const checks: readonly Outcome[] = [
  { line: ['doctor'], title: 'without failures', exitCode: 0, given: leads },
  { line: ['doctor'], title: 'with a warning', exitCode: 0, given: weak },
  { line: ['doctor'], title: 'on foreign data', exitCode: 1, given: foreign },
  { line: ['doctor', '--ttl', '48h'], title: 'with a ttl out of range', exitCode: 2, error: 'USAGE' },
  { line: ['doctor'], title: 'on a store that is down', exitCode: 3, error: 'UNREACHABLE', given: down },
  { line: ['limits'], title: 'without a store', exitCode: 0, given: down },
  { line: ['limits', 'db'], title: 'with an argument', exitCode: 2, error: 'USAGE' },
];

export const outcomes: readonly Outcome[] = [...reads, ...changes, ...checks];
