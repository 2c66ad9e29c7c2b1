/**
 * Writes the pages of the API below docs/api, from the doc comments of what the packages export.
 * The site includes the pages if they exist.
 */

import { join } from 'node:path';
import { Application, Comment, type TypeDocOptions } from 'typedoc';
import type { PluginOptions } from 'typedoc-plugin-markdown';
import { REPOSITORY, root } from './pages.ts';

/** What users import from. */
interface EntryPoint {
  /** The name in an import. */
  readonly name: string;
  /** Its source, below packages/. */
  readonly source: string;
  /** What it is for. The list of modules shows this. */
  readonly about: string;
}

/** In the order of the list of modules. `docs/tsconfig.json` lists the same sources. */
const ENTRY_POINTS: readonly EntryPoint[] = [
  { name: 'incumbent', source: 'incumbent/src/index.ts', about: 'Members, elections, leaderships, groups, observers and stores.' },
  { name: 'incumbent/host', source: 'incumbent/src/host.ts', about: 'Elections inside a framework that starts and stops them.' },
  { name: 'incumbent/monitor', source: 'incumbent/src/monitor.ts', about: 'Metrics for Prometheus and OpenTelemetry.' },
  { name: 'incumbent/traces', source: 'incumbent/src/traces.ts', about: 'Traces of failovers for OpenTelemetry.' },
  store('SQLite', 'sqlite'),
  store('etcd', 'etcd'),
  store('ZooKeeper', 'zookeeper'),
  store('Consul', 'consul'),
  store('Kubernetes', 'kubernetes'),
  store('PostgreSQL', 'postgres'),
  store('Redis and Valkey', 'redis'),
  { name: '@incumbent/memory', source: 'memory/src/index.ts', about: 'A store for tests, with faults to inject and a clock to advance.' },
  { name: '@incumbent/peer', source: 'peer/src/index.ts', about: 'Elections among the members themselves, without a store.' },
  { name: '@incumbent/cron', source: 'cron/src/index.ts', about: 'Scheduled jobs that run once in a fleet of processes.' },
  { name: '@incumbent/fastify', source: 'fastify/src/index.ts', about: 'A plugin for Fastify.' },
  { name: '@incumbent/nestjs', source: 'nestjs/src/index.ts', about: 'A module for NestJS.' },
];

function store(title: string, folder: string): EntryPoint {
  return { name: `@incumbent/${folder}`, source: `${folder}/src/index.ts`, about: `The store ${title}, and its options.` };
}

const options: Partial<TypeDocOptions & PluginOptions> = {
  entryPoints: ENTRY_POINTS.map(({ source }) => join(root, 'packages', source)),
  sortEntryPoints: false,
  indexFormat: 'table',
  groupOrder: ['Classes', 'Functions', 'Interfaces', 'Type Aliases', 'Variables', '*'],
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
  logLevel: 'Warn',
  router: 'module',
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
};
const app = await Application.bootstrapWithPlugins(options);
const project = await app.convert();
if (project === undefined) throw new Error('TypeDoc could not read the sources');
for (const { name, source, about } of ENTRY_POINTS) {
  const path = `packages/${source}`.replace(/(?:\/index)?\.ts$/, '');
  const module = project.children?.find((child) => child.name === path);
  // TypeDoc only warns if its program lacks the source of an entry point.
  if (module === undefined) throw new Error(`TypeDoc has found no module ${path}: is it in docs/tsconfig.json?`);
  module.name = name;
  module.comment = new Comment([{ kind: 'text', text: about }]);
}
await app.generateOutputs(project);
if (app.logger.hasErrors()) process.exitCode = 1;
