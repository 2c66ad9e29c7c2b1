/**
 * Bundles the packages' sources for publication: one JavaScript file for each entry point, and one
 * for the code that several entry points share. An import then reads a few files instead of dozens,
 * which takes most of the time of an import. The types, which `tsc` writes, stay one file each.
 * `pnpm build` runs it.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';

/**
 * Modules that another process or thread loads by their path (`moduleBeside`), if a package has
 * them.
 */
const LOADED_BY_PATH = ['revoker', 'process/main', 'renewer/worker'];
const packages = join(import.meta.dirname, '../packages');

/**
 * The entry points in a package's manifest and those of `LOADED_BY_PATH`: their names in `dist`,
 * with the source of each.
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
      // Node 22, the oldest supported version, has no `using`. The compiler replaces it by calls of
      // its own helpers, which are bundled.
      transform: { target: 'es2023' },
      external: /^(?!@oxc-project\/runtime)[@a-z]/,
      logLevel: 'warn',
      output: { dir: 'dist', format: 'esm', sourcemap: true, entryFileNames: '[name].js', chunkFileNames: 'shared-[hash].js' },
    });
  }),
);
