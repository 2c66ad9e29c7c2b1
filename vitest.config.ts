import { availableParallelism } from 'node:os';

import { defineConfig, type TestProjectConfiguration } from 'vitest/config';

import { CountReporter } from '@incumbent/test-support/reporter';

/**
 * Lets the workspace's packages be imported from their sources, without a build. Vite asks for the
 * whole list.
 */
const conditions = ['@incumbent/source', 'module', 'node', 'development|production'];

/** The ends of names that say what a test file needs; a file without one is a unit test. */
const kinds = ['conformance', 'simulation', 'integration', 'chaos', 'e2e'] as const;

interface ProjectOptions {
  readonly include: readonly string[];
  readonly exclude?: readonly string[];
  /** Whether its tests share real servers. */
  readonly servers?: boolean;
  /** How long one test, and one hook, may take. */
  readonly timeoutMs: number;
}

function project(name: string, { include, exclude = [], servers = false, timeoutMs }: ProjectOptions): TestProjectConfiguration {
  return {
    extends: true,
    test: {
      name,
      include: [...include],
      exclude: ['**/node_modules/**', ...exclude],
      globalSetup: servers ? ['test/support/src/servers/setup.ts'] : [],
      testTimeout: timeoutMs,
      hookTimeout: timeoutMs,
    },
  };
}

// The files of one kind: `test/conformance.test.ts` and `test/anything.conformance.test.ts` of a
// package.
function named(kind: (typeof kinds)[number]): readonly string[] {
  return [`packages/*/test/**/${kind}.test.ts`, `packages/*/test/**/*.${kind}.test.ts`];
}

const CONTRACT = ['packages/*/test/**/conformance.test.ts', 'packages/memory/test/**/*.conformance.test.ts'] as const;

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    projects: [
      project('unit', {
        include: ['packages/*/test/**/*.test.ts', 'examples/*/test/**/*.test.ts', 'docs/test/**/*.test.ts', 'test/repo/**/*.test.ts'],
        exclude: [...kinds.flatMap(named), 'examples/*/test/**/*.simulation.test.ts'],
        // A watchdog: they wait for no real time, but a busy machine may be slow.
        timeoutMs: 60_000,
      }),
      // The store contract on every store, and elections where the clock is a manual one.
      project('conformance', { include: CONTRACT, servers: true, timeoutMs: 60_000 }),
      // Elections on real servers, in real time; and the contract on other versions of them.
      project('elections', { include: named('conformance'), exclude: CONTRACT, servers: true, timeoutMs: 60_000 }),
      project('integration', {
        include: [...named('integration'), 'test/integration/**/*.test.ts', 'test/support/test/**/*.test.ts'],
        servers: true,
        timeoutMs: 60_000,
      }),
      project('simulation', {
        include: [...named('simulation'), 'examples/*/test/**/*.simulation.test.ts'],
        // A watchdog, as above: they only compute, some for a minute on a quiet machine.
        timeoutMs: 600_000,
      }),
      project('chaos', { include: [...named('chaos'), 'test/chaos/**/*.test.ts'], servers: true, timeoutMs: 300_000 }),
      project('e2e', { include: [...named('e2e'), 'test/e2e/**/*.test.ts'], servers: true, timeoutMs: 120_000 }),
    ],
    // Most tests wait, for leases and for servers: more of them than cores are under way.
    maxWorkers: availableParallelism() + 1,
    // So that code that Node itself loads (a child module, an `import()` past Vite) finds the
    // sources too.
    execArgv: ['--conditions=@incumbent/source'],
    reporters: ['default', new CountReporter()],
  },
});
