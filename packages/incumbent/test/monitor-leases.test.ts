import { ManualClock, MemoryServer } from '@incumbent/memory';
import { expect, it } from 'vitest';
import { Member } from '../src/index.ts';
import { Monitor } from '../src/monitor.ts';

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
