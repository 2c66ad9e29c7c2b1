/**
 * Makes of the packages' sources what is published: one JavaScript file for each way in, and one
 * for what several ways in share. Whoever imports a package reads a few files in place of dozens,
 * which is most of what an import takes. The types, which `tsc` writes beside them, stay a file
 * each. Run by `pnpm build`.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';

/** What another process loads by its path (`moduleBeside`), where a package has it. */
const LOADED_BY_PATH = ['revoker', 'process/main'];
const packages = join(import.meta.dirname, '../packages');

/**
 * The ways into a package that its manifest names, and those, by their names in `dist`, from the
 * sources that they are made of.
 */
function waysIn(folder: string): Readonly<Record<string, string>> {
  const sourceOf = (name: string): string => join(folder, 'src', `${name}.ts`);
  const manifest = readFileSync(join(folder, 'package.json'), 'utf8');
  const named = [...manifest.matchAll(/"(?:\.\/)?dist\/([^"]+)\.js"/g)].flatMap(([, name]) => name ?? []);
  const names = [...named, ...LOADED_BY_PATH.filter((name) => existsSync(sourceOf(name)))];
  return Object.fromEntries(names.map((name) => [name, sourceOf(name)]));
}

await Promise.all(
  readdirSync(packages).map(async (name) => {
    const folder = join(packages, name);
    await build({
      cwd: folder,
      input: waysIn(folder),
      platform: 'node',
      // Node 22, the oldest that is promised, has no `using`: what that is made into calls the
      // compiler's own helpers, which come along.
      transform: { target: 'es2023' },
      external: /^(?!@oxc-project\/runtime)[@a-z]/,
      logLevel: 'warn',
      output: { dir: 'dist', format: 'esm', sourcemap: true, entryFileNames: '[name].js', chunkFileNames: 'shared-[hash].js' },
    });
  }),
);
