import { ManualClock, MemoryServer } from '@incumbent/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { ElectionObserver, type Leadership, Member, type MemberOptions, StoredValueObserver, StoreError } from '../src/index.ts';
import { waitPrinter } from '../src/warnings.ts';

const TTL_MS = 6_000;

let clock: ManualClock;
let server: MemoryServer;
let warnings: Error[];
const listen = (warning: Error): void => void warnings.push(warning);

beforeEach(() => {
  clock = new ManualClock();
  server = new MemoryServer({ clock });
  warnings = [];
  process.on('warning', listen);
});
afterEach(() => {
  process.off('warning', listen);
});

function member(memberId: string, options: MemberOptions = {}): Member {
  return new Member(server.connect(), { memberId, ttlMs: TTL_MS, clock, ...options });
}

/** Node emits warnings in the next tick. */
async function warned(): Promise<readonly unknown[]> {
  await new Promise((resolve) => setImmediate(resolve));
  return warnings.map((warning) => ('code' in warning ? warning.code : warning));
}

/** Leads, and loses the leadership while the work does not stop. */
async function lose(election: string, options: MemberOptions): Promise<Member> {
  const leader = member(`leader-of-${election}`, options);
  void leader.election(election).lead(() => new Promise(() => {}));
  await clock.advance(100);
  server.deleteKey(`elections/${election}/leader`);
  await clock.advance(TTL_MS);
  return leader;
}

describe('a program that waits for its store', () => {
  const printed: string[] = [];
  const write = process.stderr.write.bind(process.stderr);

  afterEach(() => {
    process.stderr.write = write;
    delete process.env['INCUMBENT_DEBUG'];
  });

  it('says so once in 5 s, if the environment asks for events', () => {
    process.env['INCUMBENT_DEBUG'] = '1';
    process.stderr.write = (line: unknown): boolean => printed.push(String(line)) > 0;
    const waits = waitPrinter('redis://host/my-app');
    const error = new StoreError('UNREACHABLE', 'notSent', 'no server answers');
    for (let waitedMs = 0; waitedMs < 12_000; waitedMs += 500) waits(error, waitedMs);
    for (const line of printed) expect(line).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z incumbent /);
    expect(printed.map((line) => line.slice(line.indexOf(' ') + 1))).toEqual(
      [0, 5_000, 10_000].map(
        (ms) => `incumbent waitingForStore { url: 'redis://host/my-app', waitedMs: ${ms}, error: 'UNREACHABLE: no server answers' }\n`,
      ),
    );
  });
});

describe('a member without a logger', () => {
  it('warns of a lost leadership and of work that does not stop, once for each election', async () => {
    for (const election of ['first', 'first', 'second']) await clock.run((await lose(election, {})).close());
    expect(await warned()).toEqual(['INCUMBENT_LEADERSHIP_LOST', 'INCUMBENT_STUCK', 'INCUMBENT_LEADERSHIP_LOST', 'INCUMBENT_STUCK']);
    expect(warnings[0]).toMatchObject({
      name: 'IncumbentWarning',
      message:
        'leadership of "first" in term 1 was lost: it ended because the leader\'s record is gone: somebody deleted it, or ended its lease',
    });
  });

  it('warns of callbacks that throw, and says where', async () => {
    const failing = (name: string) => (): never => {
      throw new ReferenceError(`${name} is not defined`);
    };
    const one = member('one');
    const election = one.election('callbacks', { onElected: failing('startMyService') });
    const group = one.group('callers');
    await clock.run(group.join());
    group.subscribe(failing('show'));
    await clock.run(election.campaign());
    const store = server.connect();
    const observers = [
      new ElectionObserver(store, 'watched', { clock }),
      new StoredValueObserver(store, 'value', { clock, logger: undefined }),
    ];
    for (const observer of observers) observer.subscribe(failing('draw'));
    await clock.advance(100);
    expect(await warned()).toEqual(Array.from({ length: 4 }, () => 'INCUMBENT_CALLBACK_FAILED'));
    expect(warnings.map(({ message }) => message).toSorted()).toEqual([
      'a callback of "callbacks" threw: startMyService is not defined',
      'a callback of "callers" threw: show is not defined',
      'a callback of "value" threw: draw is not defined',
      'a callback of "watched" threw: draw is not defined',
    ]);
    expect(warnings[0]).toMatchObject({ detail: expect.stringContaining('warnings.test.ts') });
    for (const closing of [one, ...observers]) await clock.run(closing.close());
  });

  it('warns of work that fails and is begun again', async () => {
    const one = member('one');
    let isFailing = true;
    const leading = one.election('work').lead(() => {
      if (!isFailing) return;
      isFailing = false;
      throw new StoreError('UNREACHABLE', 'notSent', 'no server answers');
    });
    await clock.run(leading);
    expect(await warned()).toEqual(['INCUMBENT_WORK_FAILED']);
    expect(warnings[0]?.message).toBe('the work of "work" in term 1 failed, and the member campaigns again: no server answers');
    await clock.run(one.close());
  });

  it('warns of work that fails after its leadership was lost, and says whether the member campaigns again', async () => {
    const one = member('one');
    const work = async ({ ended }: Leadership): Promise<void> => {
      await ended;
      throw new Error('could not stop');
    };
    const leading = one.election('for-one-term').lead(work, { once: true });
    leading.catch(() => {});
    await clock.advance(100);
    server.deleteKey('elections/for-one-term/leader');
    await clock.advance(TTL_MS);
    await expect(clock.run(leading)).rejects.toMatchObject({ code: 'LEADERSHIP_ENDED' });
    expect(await warned()).toContain('INCUMBENT_WORK_FAILED');
    expect(warnings.at(-1)?.message).toBe('the work of "for-one-term" in term 1 failed: could not stop');
    await clock.run(one.close());
  });

  it('warns of a record of a group that it leaves out, and of a group that it cannot join again', async () => {
    const parse = (): never => {
      throw new TypeError('no number');
    };
    const [one, two] = [member('three'), member('three', { onDuplicate: 'replace' })];
    const group = one.group<number>('partners', { value: 3, parse });
    await clock.run(group.join());
    expect(await clock.run(group.members())).toEqual([]);
    await clock.run(two.group('others').join());
    await clock.advance(TTL_MS);
    const codes = await warned();
    expect(codes).toContain('INCUMBENT_FOREIGN_DATA');
    expect(codes).toContain('INCUMBENT_GROUP_LEFT');
    for (const closing of [one, two]) await clock.run(closing.close());
  });

  it('warns once of a reaper and of a worker that have ended, and says why', async () => {
    const lease = { renewed: () => {}, ended: () => {}, forget: () => {}, beat: () => {}, latest: () => undefined };
    const handle = { watch: () => lease, renew: () => lease, close: async () => {} };
    const losing = [
      member('reaped', {
        reaper: {
          join: ({ emit }) => {
            emit('reaperLost', { code: 1, nextInMs: 1_000 });
            emit('reaperLost', { why: 'no file reaper.js' });
            return handle;
          },
        },
      }),
      member('renewed', {
        renewIn: {
          join: ({ emit }) => {
            emit('renewerLost', { error: new Error('no file worker.js'), nextInMs: 1_000 });
            return handle;
          },
        },
      }),
    ];
    expect(await warned()).toEqual(['INCUMBENT_REAPER_LOST', 'INCUMBENT_RENEWER_LOST']);
    expect(warnings.map(({ message }) => message)).toEqual([
      'there is no reaper: if this process dies, its leases end only after their ttl (it ended with code 1)',
      "there is no worker of renewIn: 'worker': a blocked event loop ends leaderships (no file worker.js)",
    ]);
    for (const each of losing) await clock.run(each.close());
  });

  it('warns of a member id that another process holds, and not of an orderly end', async () => {
    const [first, second] = [member('same'), member('same')];
    await clock.run(first.election('third').campaign());
    void second.election('third').campaign();
    await clock.advance(100);
    await clock.run(first.shutdown());
    await clock.run(second.shutdown());
    expect(await warned()).toEqual(['INCUMBENT_DUPLICATE_MEMBER']);
  });

  it('warns once of a store that may end leases early, and says what to do', async () => {
    const weak = new MemoryServer({ clock, endsEarly: 'its clock may jump' });
    const members = ['a', 'b'].map((memberId) => new Member(weak.connect(), { memberId, ttlMs: TTL_MS, clock }));
    await clock.run(Promise.all(members.map((each) => each.close())));
    expect(await warned()).toEqual(['INCUMBENT_STORE_ENDS_EARLY']);
    expect(warnings[0]?.message).toBe(
      'the store "memory" may end a lease that is being renewed: its clock may jump. Two members may then lead at the same time ' +
        'for a moment: make every write conditional on the term, by leadership.swap or a fence. ' +
        'Once the writes are safe, --disable-warning=INCUMBENT_STORE_ENDS_EARLY hides this warning',
    );
  });

  it('warns of nothing that its logger gets', async () => {
    const logged: unknown[] = [];
    const log = (fields: object): void => void logged.push({ ...fields });
    const leader = await lose('fourth', { logger: { debug: log, info: log, warn: log, error: log } });
    await clock.run(leader.close());
    expect(await warned()).toEqual([]);
    expect(logged).toContainEqual(expect.objectContaining({ event: 'stuck', election: 'fourth' }));
  });
});
