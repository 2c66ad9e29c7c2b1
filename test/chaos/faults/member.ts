/** Faults of processes: they die, are stopped, are busy, leave, and have their clocks set. */

import type { MemberFault } from './fault.ts';

/** A fault that applies everywhere, unless it says otherwise. */
function memberFault(name: string, weight: number, fault: Pick<MemberFault, 'begin'> & Partial<MemberFault>): MemberFault {
  return { name, on: 'member', weight, appliesTo: () => true, ...fault };
}

/** Killed (SIGKILL), and started again under its id. */
const crash = memberFault('crash', 3, {
  endsLeadership: true,
  begin: async (member) => {
    if (!member.running) return undefined;
    await member.kill();
    return async () => void (await member.start());
  },
});

/** Stopped (SIGSTOP), and continued. */
const pause = memberFault('pause', 3, {
  begin: async (member) => {
    if (!member.running) return undefined;
    member.pause();
    return () => member.resume();
  },
});

/** Its event loop is blocked. */
const block = memberFault('block', 1, {
  begin: async (member, forMs) => (member.order({ block: forMs }) ? () => {} : undefined),
});

/** Gets SIGTERM, hands over and leaves, and is started again. */
const leave = memberFault('leave', 1, {
  begin: async (member) => {
    if (!member.running) return undefined;
    const left = member.leave();
    return async () => {
      await left;
      await member.start();
    };
  },
});

/** Its writes to the resource are delayed, and arrive late, all at once. */
const lateWrites = memberFault('lateWrites', 1, {
  begin: async (member) => member.holdWrites(),
});

/** Its watches report nothing and do not become stale, while its calls succeed. */
const silenceWatches = memberFault('silenceWatches', 2, {
  begin: async (member) => (member.order({ watches: 'silent' }) ? () => void member.order({ watches: 'heard' }) : undefined),
});

/** Its wall clock is set forward or back by a minute to an hour, and corrected later. */
const wallJump = memberFault('wallJump', 2, {
  appliesTo: (_site, { fakeClock }) => fakeClock,
  begin: async (member, _forMs, random) => {
    if (!member.running) return undefined;
    member.setClock(Math.round((random() < 0.5 ? -1 : 1) * (60 + random() * 3_540)));
    return () => member.setClock(0);
  },
});

export const memberFaults: readonly MemberFault[] = [crash, pause, block, leave, lateWrites, silenceWatches, wallJump];
