import { expect, it } from 'vitest';

import { moduleBeside } from '../../src/store/modules.ts';

it.each([
  ['file:///app/node_modules/@incumbent/etcd/dist/store.js', 'file:///app/node_modules/@incumbent/etcd/dist/revoker.js'],
  ['file:///incumbent/packages/etcd/src/store.ts', 'file:///incumbent/packages/etcd/src/revoker.ts'],
  ['file:///a.b/c%20d/store.mjs', 'file:///a.b/c%20d/revoker.mjs'],
])('a module beside %s ends as that does', (url, beside) => {
  expect(moduleBeside(url, 'revoker')).toBe(beside);
});
