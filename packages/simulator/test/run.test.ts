import { ElectionObserver, Member } from '@incumbent/core';
import { describe, expect, it } from 'vitest';
import {
  merge,
  profileOf,
  profiles,
  readPlan,
  run,
  runBatch,
  shrink,
  Timeline,
  type Fault,
  type Plan,
  type Program,
  type WorldEvent,
} from '../src/index.ts';

const storm = profileOf('stormy');

describe('a run', () => {
  it('is the same for the same seed, event by event', async () => {
    for (const seed of [1, 2, 3]) {
      const timelines = [new Timeline({ all: true }), new Timeline({ all: true })] as const;
      const [first, second] = [
        await run(storm.plan(seed), { listener: timelines[0] }),
        await run(storm.plan(seed), { listener: timelines[1] }),
      ];
      expect(timelines[1].lines).toEqual(timelines[0].lines);
      expect(second.hash).toBe(first.hash);
      expect(timelines[0].lines.length).toBeGreaterThan(100);
    }
  });

  it('is different for another seed, and for another fault', async () => {
    const plan = storm.plan(1);
    const hashes = [plan, storm.plan(2), { ...plan, faults: plan.faults.slice(1) }].map(async (one) => (await run(one)).hash);
    expect(new Set(await Promise.all(hashes)).size).toBe(3);
  });

  it('has another hash if an event has another content', async () => {
    const plan = profileOf('calm').plan(1);
    const noting =
      (text: string): Program =>
      (self) => {
        self.note(text);
        return idle(self);
      };
    const hashes = ['a', 'a', 'b'].map(async (text) => (await run(plan, { programs: { member: noting(text) } })).hash);
    const [first, second, other] = await Promise.all(hashes);
    expect(second).toBe(first);
    expect(other).not.toBe(first);
  });

  it('is the same from a plan that was written down', async () => {
    const plan = profileOf('adversarial').plan(5);
    const read = readPlan(JSON.stringify(plan));
    expect((await run(read)).hash).toBe((await run(plan)).hash);
  });

  it('is the same on every machine', async () => {
    expect((await run(profileOf('calm').plan(1), { programs: { member: idle, observer: idle } })).hash).toMatchInlineSnapshot(
      `"fd31cbb8165988d1"`,
    );
  });

  it('has a leader in each of several elections, each with its own terms', async () => {
    const plan = profileOf('calm').plan(2);
    const led = new Map<string, bigint[]>();
    const see = (event: WorldEvent): void => {
      if (event.type === 'elected') led.set(event.handle.election, [...(led.get(event.handle.election) ?? []), event.handle.term]);
    };
    const { violations } = await run({ ...plan, shape: { ...plan.shape, elections: 3 } }, { listener: { onEvent: see } });
    expect(violations).toEqual([]);
    expect([...led.keys()].toSorted()).toEqual(['jobs', 'jobs-2', 'jobs-3']);
    for (const terms of led.values()) expect(terms[0]).toBe(1n);
  });

  it('refuses a plan with a fault, a trigger or a property that does not exist', () => {
    const plan = profileOf('adversarial').plan(5);
    const [when, crash] = [{ atMs: 5 }, { kind: 'crash', target: 'm1', durationMs: 10 }];
    const read = (fault: unknown, shape: object = {}): Plan =>
      readPlan(JSON.stringify({ ...plan, shape: { ...plan.shape, ...shape }, faults: [fault] }));
    expect(read({ ...crash, when }).faults).toEqual([{ ...crash, when }]);
    const wrong: readonly (readonly [path: string, fault: unknown, shape?: object])[] = [
      ['faults[0].kind', { ...crash, kind: 'crush', when }],
      ['faults[0].kind', { ...crash, kind: 'toString', when }],
      ['faults[0].kind', null],
      ['faults[0].target', { ...crash, target: 'leeder', when }],
      ['faults[0].durationMs', { kind: 'crash', target: 'm1', when }],
      ['faults[0].durationMs', { ...crash, durationMs: '10', when }],
      ['faults[0].forMs', { ...crash, forMs: 10, when }],
      ['faults[0].when.on', { ...crash, when: { on: 'electted', nth: 1, afterMs: 0 } }],
      ['faults[0].when.nth', { ...crash, when: { on: 'elected', nth: 0, afterMs: 0 } }],
      ['faults[0].when.atMs', { ...crash, when: {} }],
      ['faults[0].operations[0]', { kind: 'holdWrites', target: 'm1', durationMs: 10, operations: ['swap'], when }],
      ['shape.members', { ...crash, when }, { members: '3' }],
      ['shape.stormMs', { ...crash, when }, { stormMs: Number.NaN }],
      ['shape.silentFailovers', { ...crash, when }, { silentFailovers: true }],
    ];
    for (const [path, ...parts] of wrong) expect(() => read(...parts), path).toThrow(`: plan.${path} is wrong`);
  });

  it('throws because of a fault that it does not know', async () => {
    const plan = profileOf('calm').plan(1);
    const fault: Fault = JSON.parse('{"kind":"wype","when":{"atMs":5}}');
    await expect(run({ ...plan, faults: [fault] })).rejects.toThrow('there is no such fault: {"kind":"wype"');
  });

  it('reads every plan that a profile draws', () => {
    for (const { plan } of profiles)
      for (let seed = 0; seed < 100; seed += 1)
        expect(readPlan(JSON.stringify(plan(seed)))).toEqual(JSON.parse(JSON.stringify(plan(seed))));
  });

  it('refuses text that is no plan', () => {
    for (const text of ['{}', '[]', 'null', '{"version":2,"profile":"calm","seed":1,"shape":{},"faults":[]}'])
      expect(() => readPlan(text)).toThrow(TypeError);
    expect(() => profileOf('balmy')).toThrow(/profile is "balmy": it must be one of calm, stormy/);
  });
});

const idle: Program = (self) =>
  new Promise((resolve) => {
    self.stopping.addEventListener('abort', () => resolve(), { once: true });
  });

/** The promises that break when every member runs this program. */
async function brokenBy(member: Program, plan: Plan = profileOf('calm').plan(1)): Promise<readonly string[]> {
  const { violations } = await run(plan, { programs: { member } });
  return [...new Set(violations.map(({ promise }) => promise))];
}

describe('a program with a bug is found', () => {
  it('that leads without an election', async () => {
    const usurper: Program = async (self) => {
      const never = new Promise<never>(() => {});
      self.reportLeadership(
        {
          term: 1n,
          signal: new AbortController().signal,
          ended: never,
          released: never,
          isValid: () => true,
          remainingMs: () => 1,
          state: 'valid',
        },
        'jobs',
        true,
      );
      await idle(self);
    };
    expect(await brokenBy(usurper)).toContain('terms rise');
  });

  it('that does not close its member', async () => {
    const careless: Program = async (self) => {
      const member = new Member(self.store, { memberId: self.memberId, clock: self.clock, random: self.random });
      member
        .election('jobs')
        .lead((leadership) => leadership.ended)
        .catch(() => {});
      await idle(self);
    };
    expect(await brokenBy(careless)).toContain('nothing is left behind');
  });

  it('that does not close its observer', async () => {
    const careless: Program = async (self) => {
      new ElectionObserver(self.store, 'jobs', { clock: self.clock, random: self.random }).subscribe(() => {});
      await idle(self);
    };
    expect(await brokenBy(careless)).toContain('nothing is left behind');
  });

  it('that reads the clock of the machine', async () => {
    const cheat: Program = async () => void Date.now();
    expect(await brokenBy(cheat)).toContain('no unexpected error');
  });

  it('that schedules timers forever', async () => {
    const spinning: Program = (self) =>
      new Promise(() => {
        const again = (): void => {
          for (let i = 0; i < 30_000; i += 1) self.clock.schedule(5, () => {});
          self.clock.schedule(5, again);
        };
        again();
      });
    expect(await brokenBy(spinning)).toContain('the world goes on');
  });
});

describe('shrinking', () => {
  it('keeps only the faults that are needed for the failure', async () => {
    const plan = storm.plan(4);
    const [one, other] = [plan.faults[3], plan.faults.at(-2)];
    let asked = 0;
    const small = await shrink(plan, async ({ faults }) => {
      asked += 1;
      return faults.some((fault) => fault === one) && faults.some((fault) => fault === other);
    });
    expect(small.faults).toEqual([one, other]);
    expect(small.shape).toBe(plan.shape);
    expect(asked).toBeLessThan(100);
  });

  it('keeps no fault if the failure needs none', async () => {
    expect((await shrink(storm.plan(4), async () => true)).faults).toEqual([]);
  });
});

describe('a batch', () => {
  it('has the same sums, however it is divided', async () => {
    const whole = await runBatch('calm', 96, 8);
    const parts = [await runBatch('calm', 96, 5), await runBatch('calm', 101, 3)] as const;
    merge(parts[0], parts[1]);
    expect(parts[0]).toEqual(whole);
    expect(whole.replayed).toBe(1);
  });
});
