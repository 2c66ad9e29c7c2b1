/** Campaigns begun, given up and begun again; and what of them may stay behind. */

import { describe, expect, it } from 'vitest';
import { Fence, type Change, type Leadership } from '../../src/index.ts';
import { denied, instead, LEADER, NAME, QUEUE, quiet, Scene, TERM, timeout, TTL_MS } from '../review/scene.ts';

const isClaim = ([first]: readonly Change[]): boolean => first?.key === LEADER && 'put' in first && first.expect === null;

describe('lead', () => {
  it.each(Array.from({ length: 16 }, (_, turns) => turns))(
    'never begins work that was given up before, %i turns after the election',
    async (turns) => {
      const scene = new Scene();
      const giveUp = new AbortController();
      const abort = async (): Promise<void> => {
        for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
        giveUp.abort(new Error('enough'));
      };
      const nothing = (): void => {};
      const info = (_: object, text: string): void => void (text === 'elected' && abort());
      const member = scene.member('a', scene.connect(), { logger: { debug: nothing, warn: nothing, error: nothing, info } });
      const begun: boolean[] = [];
      const work = async (leadership: Leadership): Promise<void> => {
        begun.push(leadership.isValid());
        await leadership.ended;
      };
      await expect(scene.run(member.election(NAME).lead(work, { signal: giveUp.signal }))).rejects.toThrow('enough');
      expect(begun).not.toContain(false);
      await scene.close();
    },
  );

  it('does not campaign again, whoever asks, before the work that is stuck has settled', async () => {
    const scene = new Scene();
    const election = scene.member('a').election(NAME);
    const giveUp = new AbortController();
    const stuck = Promise.withResolvers<void>();
    const first = quiet(election.lead(() => stuck.promise, { signal: giveUp.signal }));
    await scene.until(() => election.leadership !== undefined);
    giveUp.abort(new Error('enough'));
    await scene.pass(TTL_MS);
    await expect(first).rejects.toThrow('enough');
    const again = quiet(election.campaign());
    expect(await scene.settles(again, 5 * TTL_MS)).toBe(false);
    stuck.resolve();
    expect(await scene.settles(again, 100)).toBe(true);
    await scene.close();
  });

  it('does not wait for work that is over when a fence has ended its term', async () => {
    const scene = new Scene();
    const fence = new Fence();
    fence.admit(90n);
    const stale = scene.clock.monotonic() + 1_000;
    const ends: number[] = [];
    const member = scene.member('a', scene.connect(), { drainMs: TTL_MS / 4, callTimeoutMs: 200 });
    const leading = quiet(
      member.election(NAME).lead(async ({ term, ended }) => {
        ends.push(scene.clock.monotonic());
        if (ends.length === 1) await new Promise<void>((resolve) => void scene.clock.schedule(stale - scene.clock.monotonic(), resolve));
        else await ended;
        fence.admit(term);
      }),
    );
    await scene.until(() => ends.length > 1);
    expect(Number(ends[1]) - stale).toBeLessThan(100);
    await scene.close();
    await expect(leading).rejects.toMatchObject({ code: 'MEMBER_CLOSED' });
  });

  it('keeps the process alive while it waits for work that is stuck', async () => {
    const scene = new Scene();
    const stuck = Promise.withResolvers<void>();
    const election = scene.member('a').election(NAME);
    const leading = quiet(election.lead(() => stuck.promise));
    await scene.until(() => election.leadership !== undefined);
    scene.server.deleteKey(LEADER);
    await scene.pass(TTL_MS);
    expect(scene.clock.holds).toBeGreaterThan(0);
    stuck.resolve();
    await scene
      .run(
        leading.catch(() => {}),
        10,
      )
      .catch(() => {});
    await scene.close();
    expect(scene.clock.holds).toBe(0);
  });
});

describe('a claim in unknownOutcome', () => {
  it.each([
    ['deletes', (scene: Scene) => void scene.server.deleteKey(TERM)],
    [
      'raises',
      (scene: Scene) =>
        scene.server.put(TERM, new TextEncoder().encode(JSON.stringify({ ...scene.json(TERM), term: '90', entry: 'nobody' }))),
    ],
  ])('does not hold the election up for ever when somebody %s the term before it is read back', async (_, meddle) => {
    const scene = new Scene();
    const link = scene.connect();
    let claims = 0;
    const store = instead(link, {
      compareAndSwap: async (changes, options) => {
        const result = await link.compareAndSwap(changes, options);
        if (!isClaim(changes) || (claims += 1) > 1) return result;
        meddle(scene);
        throw timeout();
      },
    });
    const campaign = quiet(scene.member('a', store).election(NAME).campaign());
    expect(await scene.settles(campaign, 10 * TTL_MS)).toBe(true);
    expect((await campaign).isValid()).toBe(true);
    await scene.close();
  });
});

describe('a session that lives for weeks', () => {
  it('hunts for what fifty failed campaigns may have left, and never for the entry that it leads with', async () => {
    const scene = new Scene();
    const link = scene.connect();
    let refusing = true;
    const store = instead(link, {
      compareAndSwap: async (changes, options) => {
        if (refusing && isClaim(changes)) throw denied();
        return link.compareAndSwap(changes, options);
      },
    });
    const election = scene.member('a', store).election(NAME);
    for (let i = 0; i < 50; i += 1) await expect(scene.run(election.campaign())).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    refusing = false;
    const leadership = await scene.run(election.campaign());
    await scene.pass(100 * TTL_MS);
    expect(leadership.isValid()).toBe(true);
    expect(scene.server.keys().filter((key) => key.startsWith(QUEUE)).length).toBe(1);
    await scene.close();
    expect(scene.clock.timers).toBe(0);
  });
});
