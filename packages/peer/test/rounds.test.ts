/**
 * Every round that a member sends is readable by the others, whatever round it has received, and
 * the group still elects a leader.
 */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BestEffortMessage } from '../src/index.ts';
import { algorithmOf, names, type Name } from './best-effort/algorithms.ts';
import { Stage } from './stage/stage.ts';

const MEMBERS = ['a', 'b', 'c', 'd'];
/** The highest round that members accept. */
const LAST = 2 ** 52;

function algorithm(name: Name) {
  return algorithmOf(name, { members: MEMBERS, candidates: MEMBERS });
}

const round = fc.oneof(
  fc.constant(LAST),
  fc.nat({ max: 3 }).map((below) => LAST - below),
  fc.nat({ max: 9 }),
);
const id = fc.constantFrom(...MEMBERS);
const ids = fc.uniqueArray(id, { maxLength: 3 });
const common = { round, weight: fc.constant(0), standing: fc.boolean(), leader: id };
const ring = {
  initiator: id,
  attempt: fc.nat({ max: 2 }),
  hops: fc.nat({ max: 4 }),
  live: ids,
  phase: fc.constantFrom('collect', 'announce'),
};
const type = fc.constantFrom(
  ...['heartbeat', 'heartbeatAnswer', 'elected', 'resigned', 'handover', 'alive', 'election', 'grant', 'takeOver', 'poll'],
  ...['collect', 'announce', 'passed', 'invite', 'accept', 'redirect', 'moved'],
);
const others = { successors: ids, failures: fc.constant([]), group: ids, size: fc.integer({ min: 1, max: 4 }), onward: fc.boolean() };
const data = fc.record({ type, ...common, ...ring, ...others });
const act = fc.record({
  afterMs: fc.constantFrom(0, 1, 100, 300, 1_000, 3_000),
  from: fc.constantFrom('b', 'c', 'd'),
  data: fc.option(data),
});

describe.each(names)('%s', (name) => {
  it('sends only readable rounds, whatever it receives', () => {
    const { start, step, readMessage } = algorithm(name);
    let last = 0;
    fc.assert(
      fc.property(fc.array(act, { minLength: 1, maxLength: 40 }), (acts) => {
        let [state, nowMs] = [start({ memberId: 'a', now: { monotonicMs: 0, wallMs: 0 }, seed: 1, durable: undefined }), 0];
        const does = (input: object): void => {
          const now = { monotonicMs: nowMs, wallMs: nowMs };
          const done = step(state, { ...input, now, position: { lastTerm: 0n, lastIndex: 0n } } as never);
          state = done.state;
          for (const output of done.outputs) {
            if (output.type !== 'send') continue;
            expect(readMessage(output.message)).toEqual(output.message);
            if (output.message.round === LAST) last += 1;
          }
        };
        does({ type: 'command', command: { type: 'campaign' } });
        for (const { afterMs, from, data: heard } of acts) {
          nowMs += afterMs;
          const message = heard === null ? undefined : readMessage(heard);
          does(message === undefined ? { type: 'tick' } : { type: 'message', from, message });
        }
      }),
      { seed: 20_300_101, numRuns: 300 },
    );
    expect(last).toBeGreaterThan(0);
  });

  it('elects leaders after a forged message has raised its round to the highest one', () => {
    const stage = new Stage(algorithm(name), 1);
    for (const member of MEMBERS) stage.start(member);
    stage.until(() => stage.agree(MEMBERS), 60_000);
    const [first] = stage.leaders;
    const follower = MEMBERS.find((member) => member !== first) ?? '';
    const other = MEMBERS.find((member) => member !== first && member !== follower) ?? '';
    const falsely: BestEffortMessage = { type: 'heartbeatAnswer', round: LAST, standing: false, failures: [] };
    for (const member of [first ?? '', follower]) stage.hears(member, other, falsely);
    for (let times = 0; times < 3; times += 1) {
      stage.pass(5_000);
      stage.until(() => stage.agree(stage.up), 60_000);
      const [leader] = stage.leaders;
      stage.crash(leader ?? '');
      stage.pass(5_000);
      stage.until(() => stage.agree(stage.up), 60_000);
      stage.start(leader ?? '');
      stage.pass(5_000);
      stage.until(() => stage.agree(MEMBERS), 60_000);
      stage.resign(stage.leaders[0] ?? '');
      stage.pass(5_000);
      stage.until(() => stage.agree(MEMBERS), 60_000);
    }
    const rounds = stage.lines.flatMap((line) => (line.type === 'leads' ? [line.round] : []));
    expect(rounds).toContain(LAST);
    expect(Math.max(...rounds.map((led) => led ?? 0))).toBe(LAST);
  });
});
