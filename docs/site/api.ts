/**
 * Writes the pages of the API below docs/api, from the doc comments of what the packages export.
 * The site includes the pages if they exist.
 */

import { join } from 'node:path';
import { Application, type TypeDocOptions } from 'typedoc';
import type { PluginOptions } from 'typedoc-plugin-markdown';
import { REPOSITORY, root } from './pages.ts';

/** The entry points that users import: their sources below packages/, by the names in an import. */
const ENTRY_POINTS = new Map([
  ['incumbent', 'incumbent/src/index.ts'],
  ['incumbent/host', 'incumbent/src/host.ts'],
  ['incumbent/monitor', 'incumbent/src/monitor.ts'],
  ['incumbent/traces', 'incumbent/src/traces.ts'],
  ['@incumbent/cron', 'cron/src/index.ts'],
  ['@incumbent/fastify', 'fastify/src/index.ts'],
  ['@incumbent/memory', 'memory/src/index.ts'],
  ['@incumbent/nestjs', 'nestjs/src/index.ts'],
  ['@incumbent/peer', 'peer/src/index.ts'],
]);

const options: Partial<TypeDocOptions & PluginOptions> = {
  entryPoints: [...ENTRY_POINTS.values()].map((path) => join(root, 'packages', path)),
  tsconfig: join(root, 'docs/tsconfig.json'),
  out: join(root, 'docs/api'),
  plugin: ['typedoc-plugin-markdown'],
  name: 'API',
  readme: 'none',
  excludeInternal: true,
  excludePrivate: true,
  sourceLinkTemplate: `${REPOSITORY}/blob/main/{path}#L{line}`,
  basePath: root,
  displayBasePath: root,
  disableGit: true,
  logLevel: 'Error',
  router: 'module',
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
};
const app = await Application.bootstrapWithPlugins(options);
const project = await app.convert();
if (project === undefined) throw new Error('TypeDoc could not read the sources');
for (const module of project.children ?? []) module.name = importOf(module.name);
await app.generateOutputs(project);
if (app.logger.hasErrors()) process.exitCode = 1;

/** The name in an import of a module that TypeDoc names by its path: `packages/memory/src`. */
function importOf(path: string): string {
  const found = [...ENTRY_POINTS].find(([, source]) => `packages/${source}`.replace(/(?:\/index)?\.ts$/, '') === path);
  if (found === undefined) throw new Error(`no entry point is ${path}`);
  return found[0];
}
