import { expect, it } from 'vitest';

import { fileRevocation } from '../src/revoker.ts';

it('another process loads the module beside the store', () => {
  expect(fileRevocation('file:///a/store.js', '/state.db')).toMatchObject({ module: 'file:///a/revoker.js', renews: true });
});

it('there is no revocation in a CommonJS bundle, where import.meta has no url', () => {
  expect(fileRevocation(undefined, '/state.db')).toBeUndefined();
});
