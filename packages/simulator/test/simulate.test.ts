import { ElectionObserver, Member } from '@incumbent/core';
import { describe, expect, it } from 'vitest';
import { profileOf, simulate, SimulationError, type ProgramContext, type SimulateOptions, type ProgramUnderTest } from '../src/index.ts';

/** Leads until it is asked to stop. */
async function leads(self: ProgramContext, work: () => Promise<void> = async () => {}): Promise<void> {
  await using member = new Member(self.store, self.options);
  const leading = member.election('jobs').lead(
    async (leadership) => {
      self.reportLeadership(leadership, 'jobs');
      await work();
      await leadership.ended;
    },
    { signal: self.stopping },
  );
  await leading.catch((error: unknown) => {
    if (error !== self.stopping.reason) throw error;
  });
}

async function failureOf(begin: () => ProgramUnderTest, options: SimulateOptions): Promise<SimulationError> {
  const error: unknown = await simulate(begin, options).catch((reason: unknown) => reason);
  if (error instanceof SimulationError) return error;
  throw new Error(`it did not fail as it should have: ${String(error)}`);
}

const few = { profile: 'stormy', seeds: 20 } as const;

describe('a program in many worlds', () => {
  it('runs in each, and the result sums up what happened', async () => {
    let begun = 0;
    const { worlds, terms, simulatedMs, counts } = await simulate(() => {
      begun += 1;
      return { member: leads };
    }, few);
    expect([worlds, begun]).toEqual([20, 20]);
    expect(terms).toBeGreaterThan(60);
    expect(simulatedMs).toBeGreaterThan(20 * 60_000);
    expect(counts.get('fault: crash')).toBeGreaterThan(5);
  });

  it('is run twice in some worlds', async () => {
    let begun = 0;
    const member = async (self: ProgramContext): Promise<void> => leads(self);
    await simulate(() => ({ member, check: () => (begun += 1) }), { start: 100, seeds: 1 });
    expect(begun).toBe(2);
  });

  it('need not report its leaderships', async () => {
    const silent = async ({ store, options, stopping }: ProgramContext): Promise<void> => {
      await using member = new Member(store, options);
      await member
        .election('jobs')
        .lead(({ ended }) => ended.then(() => {}), { signal: stopping })
        .catch(() => {});
    };
    expect(await simulate(() => ({ member: silent }), { ...few, seeds: 5 })).toMatchObject({ worlds: 5 });
  });

  it('may begin at a term of its own', async () => {
    const member = async ({ store, options, stopping }: ProgramContext): Promise<void> => {
      await using part = new Member(store, options);
      await part
        .election('jobs', { minTerm: 100n })
        .lead(({ ended }) => ended.then(() => {}), { signal: stopping })
        .catch(() => {});
    };
    expect(await simulate(() => ({ member }), { profile: 'calm', seeds: 3 })).toMatchObject({ worlds: 3 });
  });

  it('may keep its own keys in the store', async () => {
    const member = async (self: ProgramContext): Promise<void> =>
      leads(self, async () => {
        const change = { key: `my/${self.memberId}/${self.random.u32()}`, expect: null, put: new Uint8Array() };
        await self.store.compareAndSwap([change], { timeoutMs: 100 }).catch(() => {});
      });
    expect(await simulate(() => ({ member }), { ...few, seeds: 5 })).toMatchObject({ worlds: 5 });
  });
});

describe('a failure', () => {
  it('of the check is reported with its seed, a timeline, and how to repeat it', async () => {
    const begin = (): ProgramUnderTest => {
      let crashes = 0;
      return {
        member: (self) => {
          self.note('hello');
          crashes += 1;
          return leads(self);
        },
        check: () => {
          if (crashes > 8) throw new Error(`started ${crashes} times`);
        },
      };
    };
    const error = await failureOf(begin, few);
    expect(error.violations).toMatchObject([{ promise: 'the check passes', what: expect.stringMatching(/started \d+ times/) }]);
    expect(error.plan.faults.length).toBeLessThan(profileOf('stormy').plan(error.seed).faults.length);
    expect(error.message).toContain(`seed ${error.seed} of stormy breaks a promise:\n  the check passes: started`);
    expect(error.message).toMatch(/\d+ ms {2}!! (crash|leave|takeOver) m\d#\d/);
    expect(error.message).toMatch(/m\d#\d: hello/);
    expect(error.message).toContain(`{ profile: 'stormy', start: ${error.seed}, seeds: 1 }`);
    const again = await failureOf(begin, { plan: error.plan });
    expect(again.violations).toEqual(error.violations);
  });

  it.each<[string, (self: ProgramContext) => Promise<void>, string]>([
    ['throws', () => Promise.reject(new Error('boom')), 'no unexpected error'],
    ['never stops', () => new Promise(() => {}), 'no unexpected error'],
    ['reads the machine’s clock', async () => void Date.now(), 'no unexpected error'],
    [
      'leaves a timer',
      async ({ clock, stopping }) => untilAborted(stopping, () => clock.schedule(1e6, () => {})),
      'nothing is left behind',
    ],
    [
      'leaves a watch',
      async ({ store, options, stopping }) => untilAborted(stopping, () => watch(store, options)),
      'nothing is left behind',
    ],
  ])('of a program that %s', async (_, member, promise) => {
    const error = await failureOf(() => ({ member }), { profile: 'calm', seeds: 1 });
    expect(error.violations.map((violation) => violation.promise)).toContain(promise);
  });

  it('of a check that is async is one as well', async () => {
    const check = async (): Promise<void> => {
      await new Promise(setImmediate);
      throw new Error('the table is wrong');
    };
    const error = await failureOf(() => ({ member: leads, check }), { ...few, seeds: 1 });
    expect(error.violations).toMatchObject([{ promise: 'the check passes', what: 'the table is wrong' }]);
  });

  it.each<[string, () => unknown, string]>([
    [
      'async',
      async () => ({ member: leads }),
      'the result of begin is an object: it must be an object with the functions member and check, and no promise',
    ],
    ['without a member', () => ({ members: leads }), 'member is undefined: it must be a function'],
    ['of nothing', () => undefined, 'the result of begin is undefined'],
    ['with a check that is none', () => ({ member: leads, check: true }), 'check is true: it must be a function'],
  ])('of a begin that is %s says so', async (_, begin, message) => {
    await expect(Reflect.apply(simulate, undefined, [begin, { seeds: 1 }])).rejects.toThrow(message);
  });

  it('of a program that behaves differently in the same world', async () => {
    let starts = 0;
    const member = async (self: ProgramContext): Promise<void> => {
      starts += 1;
      self.note(`start ${starts}`);
      await leads(self);
      await new Promise<void>((resolve) => void self.clock.schedule(starts, resolve));
    };
    const error = await failureOf(() => ({ member }), { profile: 'calm', start: 100, seeds: 1 });
    expect(error.message).toContain('the program does not do the same in the same world');
  });

  it('of a program that reports something else at the same moments of the same world', async () => {
    let starts = 0;
    const member = async (self: ProgramContext): Promise<void> => {
      starts += 1;
      self.note(`start ${starts}`);
      await leads(self);
    };
    const error = await failureOf(() => ({ member }), { profile: 'calm', start: 100, seeds: 1 });
    expect(error.message).toMatch(/the program does not do the same in the same world: .*start 1, and the second time .*start \d/);
  });

  it('of a batch in which nobody was elected', async () => {
    const member = ({ stopping }: ProgramContext): Promise<void> => untilAborted(stopping, () => {});
    await expect(simulate(() => ({ member }), { ...few, seeds: 2 })).rejects.toThrow('in 2 worlds nobody was elected');
  });

  it.each([
    [{ seeds: 0 }, 'seeds is 0: it must be a whole number from 1'],
    [{ start: 1.5 }, 'start is 1.5: it must be a whole number from 0'],
    [{ profile: 'balmy' }, 'profile is "balmy"'],
    [{ seed: 7 }, 'there is no simulate option "seed"'],
  ])('because of the option %o is thrown at once', async (options, message) => {
    await expect(Reflect.apply(simulate, undefined, [() => ({ member: leads }), options])).rejects.toThrow(message);
  });
});

describe('a resource that processes share besides the store', () => {
  it('is called by messages that take time, arrive even after a crash, and settle as the called function', async () => {
    const seen: string[] = [];
    const member = async (self: ProgramContext): Promise<void> => {
      const beforeMs = self.clock.monotonic();
      seen.push(await self.call(() => 'answer'));
      expect(self.clock.monotonic()).toBeGreaterThanOrEqual(beforeMs);
      await self
        .call(() => {
          throw new Error('refused');
        })
        .catch((error: unknown) => seen.push(String(error)));
      await leads(self);
    };
    await simulate(() => ({ member }), { profile: 'calm', seeds: 1 });
    expect(new Set(seen)).toEqual(new Set(['answer', 'Error: refused']));
  });
});

function untilAborted(signal: AbortSignal, first: () => unknown): Promise<void> {
  first();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function watch(store: ProgramContext['store'], { clock, random }: ProgramContext['options']): void {
  if (clock === undefined || random === undefined) throw new TypeError('a process has a clock');
  new ElectionObserver(store, 'jobs', { clock, random }).subscribe(() => {});
}
