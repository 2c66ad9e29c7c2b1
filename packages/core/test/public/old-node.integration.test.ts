import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';

import { expect, it } from 'vitest';

/** Imports a module in a process without a function that Node 20 lacks. */
async function importOnOldNode(module: URL): Promise<string> {
  const script = `delete Promise.withResolvers; await import('${module.href}')`;
  const { promise, resolve } = Promise.withResolvers<string>();
  execFile(process.execPath, ['--input-type=module', '--eval', script], (_, __, stderr) => resolve(stderr));
  return promise;
}

it.each(['index', 'adapter'])('on an older Node, the import of `%s` says which one is needed', async (entry) => {
  const manifest = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  const needed = /"node": ">=([\d.]+)"/.exec(manifest)?.[1];
  const output = await importOnOldNode(new URL(`../../src/${entry}.ts`, import.meta.url));
  expect(output).toContain(`Error: incumbent needs Node ${needed} or newer`);
});
