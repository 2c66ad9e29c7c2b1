import { expect, it } from 'vitest';
import { ElectionObserver } from '../../src/index.ts';
import { instead, NAME, Scene, timeout, TTL_MS } from '../review/scene.ts';

it('an observer says since when nothing was confirmed, however often the store fails after that', async () => {
  const scene = new Scene();
  const link = scene.connect();
  let failing = false;
  const store = instead(link, {
    read: async (...call) => {
      if (failing) throw timeout();
      return link.read(...call);
    },
  });
  const leader = await scene.elect(scene.member('a'));
  const observer = new ElectionObserver(store, NAME, { clock: scene.clock });
  await scene.run(observer.ready);
  failing = true;
  await scene.run(leader.resign());
  await scene.until(() => observer.current.state === 'unknown');
  const { current } = observer;
  await scene.pass(20 * TTL_MS);
  expect(observer.current).toMatchObject({ state: 'unknown', since: current.state === 'unknown' ? current.since : undefined });
  failing = false;
  await scene.pass(40_000);
  expect(observer.current).toMatchObject({ state: 'vacant', reason: 'resigned' });
  await scene.run(observer.close());
  await scene.close();
});
