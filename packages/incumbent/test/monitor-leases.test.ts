import { ManualClock, MemoryServer } from '@incumbent/memory';
import { expect, it, vi } from 'vitest';
import { Member } from '../src/index.ts';
import { Monitor } from '../src/monitor.ts';
import { sceneOfEachTest } from './monitored.ts';

const begin = sceneOfEachTest();

it('a member with several leases has one figure of each name, that of its worst lease', async () => {
  const clock = new ManualClock();
  const server = new MemoryServer({ clock, maxKeysPerLease: 4 });
  using monitor = new Monitor({ now: () => clock.monotonic() });
  const member = new Member(server.connect(), { memberId: 'a', ttlMs: 10_000, clock });
  await clock.run(member.election('one').campaign());
  await clock.advance(1_000);
  await clock.run(member.election('two').campaign());
  expect(server.entries().some(({ key }) => key.startsWith('elections/two/'))).toBe(true);
  const figures = monitor
    .prometheus()
    .split('\n')
    .filter((line) => /^incumbent_session_(age|validity|suspect)/.test(line));
  expect(figures).toEqual([
    'incumbent_session_age_seconds{store="memory",member="a"} 1',
    expect.stringMatching(/^incumbent_session_validity_seconds\{store="memory",member="a"\} 7\.80/),
    'incumbent_session_suspect{store="memory",member="a"} 0',
  ]);
  await clock.run(member.close());
  await server.close();
});

it('a member that renews its lease while it waits for the lease of its former process is known from its start', async () => {
  const clock = new ManualClock();
  const server = new MemoryServer({ clock });
  const [formerStore, store] = [server.connect(), server.connect()];
  const former = new Member(formerStore, { memberId: 'b', ttlMs: 10_000, clock });
  await clock.run(former.election('jobs').campaign());
  formerStore.link.cutOff();
  const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  using monitor = new Monitor({ now: () => clock.monotonic() });
  const member = new Member(store, { memberId: 'b', ttlMs: 10_000, clock });
  const campaign = member.election('jobs').campaign();
  await clock.advance(12_000);
  const codes = warning.mock.calls.map(([, options]) => (typeof options === 'object' ? options.code : undefined));
  warning.mockRestore();
  expect(codes).not.toContain('INCUMBENT_MONITOR_LATE');
  await clock.run(campaign);
  expect(monitor.health()).toMatchObject({ healthy: true, leads: [{ election: 'jobs', member: 'b' }] });
  formerStore.link.heal();
  await clock.run(Promise.all([former.close(), member.close()]));
  await server.close();
});

it('a lease that ends while its member still registers leaves no figure', async () => {
  const world = begin();
  const ageOf = 'incumbent_session_age_seconds';
  world.store.link.delay(50);
  const campaign = world.member.election('jobs').campaign();
  await world.clock.advance(120);
  world.clock.advanceWall(60_000);
  await world.clock.run(campaign);
  await world.clock.advance(600_000);
  expect(world.figure(ageOf)).toBeLessThan(10);
  await world.clock.run(world.member.close());
  expect(world.figures(ageOf)).toEqual([]);
});
