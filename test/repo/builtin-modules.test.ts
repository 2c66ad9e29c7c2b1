/** What Node loads for an import of a store. */

import { run } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

const FETCH = 'NativeModule internal/deps/undici/undici';

describe.each(['consul', 'etcd', 'kubernetes', 'postgres', 'redis', 'zookeeper'])('an import of %s', (name) => {
  it('does not load Node’s fetch, which takes 5 MB of memory', async () => {
    const entry = new URL(`../../packages/${name}/src/index.ts`, import.meta.url).href;
    const program = `await import(${JSON.stringify(entry)}); console.log(JSON.stringify(process.moduleLoadList));`;
    const loaded: unknown = JSON.parse(
      await run(process.execPath, ['--conditions=@incumbent/source', '--input-type=module', '--eval', program]),
    );
    expect(loaded).toContain('NativeModule net');
    expect(loaded).not.toContain(FETCH);
  });
});
