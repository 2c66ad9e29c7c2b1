import { expect, it } from 'vitest';
import { quiet, Scene, TTL_MS } from '../review/scene.ts';

it('joining once more, while the store does not answer, waits for it as the first time', async () => {
  const scene = new Scene();
  const link = scene.connect();
  const group = scene.member('a', link).group('g');
  await scene.run(group.join());
  link.link.dropRequests(1, { verbs: ['read'] });
  const again = quiet(group.join());
  expect(await scene.settles(again, TTL_MS)).toBe(true);
  await again;
  await scene.close();
});
