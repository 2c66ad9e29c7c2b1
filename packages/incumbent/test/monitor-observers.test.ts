import { describe, expect, it } from 'vitest';
import { ElectionObserver, Member } from '../src/index.ts';
import { sceneOfEachTest } from './monitored.ts';

const begin = sceneOfEachTest();

describe('the metrics of observers', () => {
  it('show what an observer sees, and how long nobody has led', async () => {
    const world = begin();
    const observer = new ElectionObserver(world.server.connect(), 'jobs', { clock: world.clock });
    await world.clock.run(observer.ready);
    await world.clock.advance(3_000);
    const about = 'store="memory",election="jobs"';
    expect(world.figures('incumbent_observed')).toContain(`{${about},state="vacant"} 1`);
    expect(world.figure('incumbent_vacancy_seconds')).toBeCloseTo(3, 1);
    const leadership = await world.clock.run(world.member.election('jobs').campaign());
    await world.clock.advance(1_000);
    expect(world.figures('incumbent_observed')).toEqual([
      `{${about},state="leader"} 1`,
      `{${about},state="vacant"} 0`,
      `{${about},state="unknown"} 0`,
    ]);
    expect(world.figure('incumbent_observed_term')).toBe(Number(leadership.term));
    expect(world.figure('incumbent_vacancy_seconds')).toBe(0);
    expect(world.figure('incumbent_vacant_seconds_total')).toBeCloseTo(3, 1);
    await world.clock.run(observer.close());
    expect(world.figures('incumbent_observed')).toEqual([]);
  });

  it('count the changes of the leader by reason, once for all observers, without the first leader that they see', async () => {
    const world = begin();
    const observe = async (): Promise<ElectionObserver> => {
      const observer = new ElectionObserver(world.server.connect(), 'jobs', { clock: world.clock });
      await world.clock.run(observer.ready);
      return observer;
    };
    const election = world.member.election('jobs');
    const first = await world.clock.run(election.campaign());
    await world.clock.run(first.resign());
    const second = await world.clock.run(election.campaign());
    const observers = [await observe(), await observe()];
    expect(world.figures('incumbent_observed_changes_total')).toEqual([]);
    await world.clock.run(second.publish('moved'));
    const other = new Member(world.server.connect(), { memberId: 'b', ttlMs: 10_000, clock: world.clock });
    const next = other.election('jobs').campaign();
    await world.clock.advance(100);
    await world.clock.run(second.handover('b'));
    const third = await world.clock.run(next);
    await world.clock.advance(100);
    await world.clock.run(third.resign());
    await world.clock.run(election.campaign());
    await world.clock.advance(100);
    expect(world.figures('incumbent_observed_changes_total')).toEqual([
      '{store="memory",election="jobs",reason="handover"} 1',
      '{store="memory",election="jobs",reason="resigned"} 1',
    ]);
    for (const observer of observers) await world.clock.run(observer.close());
    await world.clock.run(other.close());
  });

  it('count the changes of the leader also after the store has lost its terms', async () => {
    const world = begin();
    const changes = (): number =>
      world.figures('incumbent_observed_changes_total').reduce((sum, line) => sum + Number(line.split('} ')[1]), 0);
    /** Returns the number of changes in each of the terms 1 to `count`. */
    const leadTerms = async (member: Member, count: number): Promise<readonly number[]> => {
      const seen: number[] = [];
      for (let term = 1; term <= count; term += 1) {
        const leadership = await world.clock.run(member.election('jobs').campaign());
        await world.clock.advance(20_000);
        expect(leadership.term).toBe(BigInt(term));
        seen.push(changes());
        await world.clock.run(leadership.resign());
        await world.clock.advance(100);
      }
      return seen;
    };
    const other = new Member(world.server.connect(), { memberId: 'b', ttlMs: 10_000, clock: world.clock });
    const observers = ['one', 'two'].map(() => new ElectionObserver(world.server.connect(), 'jobs', { clock: world.clock }));
    for (const observer of observers) await world.clock.run(observer.ready);
    expect(await leadTerms(world.member, 5)).toEqual([0, 1, 2, 3, 4]);
    for (const { key } of world.server.entries()) world.server.deleteKey(key);
    await world.clock.advance(20_000);
    expect(await leadTerms(other, 3)).toEqual([5, 6, 7]);
    for (const observer of observers) await world.clock.run(observer.close());
    await world.clock.run(other.close());
  });

  it('stay as they are when another observer of the election begins or closes', async () => {
    const world = begin();
    const observer = new ElectionObserver(world.server.connect(), 'jobs', { clock: world.clock });
    await world.clock.run(observer.ready);
    await world.clock.advance(3_000);
    const other = new ElectionObserver(world.server.connect(), 'jobs', { clock: world.clock });
    await world.clock.run(other.ready);
    expect(world.figure('incumbent_vacancy_seconds')).toBeCloseTo(3, 1);
    await world.clock.run(other.close());
    expect(world.figures('incumbent_observed')).toContain('{store="memory",election="jobs",state="vacant"} 1');
    expect(world.figure('incumbent_vacancy_seconds')).toBeCloseTo(3, 1);
    await world.clock.run(observer.close());
    expect(world.figures('incumbent_observed')).toEqual([]);
  });
});
