import { readFile } from 'node:fs/promises';
import { writeSync } from 'node:fs';

import type { Setting } from '../../settings.ts';
import { apiServerPrograms } from './build.ts';
import { buildFailure } from './source.ts';

const NO_API_SERVER: Setting = 'INCUMBENT_TEST_NO_API_SERVER';

/** In the source of a test file that needs an API server. */
const NEEDS_API_SERVER = /\bstartKubernetes\b|'kubernetes'|\bgroups\.kubernetes\b|\bmigrations\b/;

/**
 * Builds the API server before the first test of a run, if one of these test files needs it. The
 * compiler uses all cores for minutes, so it would disturb every test that runs beside it. If the
 * build fails, the tests do not try it again: they report the failure.
 */
export async function prepareApiServer(files: readonly string[]): Promise<void> {
  const sources = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  if (!sources.some((source) => NEEDS_API_SERVER.test(source))) return;
  const onBuild = (): void =>
    void writeSync(2, 'Building the Kubernetes API server before the tests, once on this machine. This takes several minutes.\n');
  await apiServerPrograms(onBuild).catch((error: unknown) => {
    process.env[NO_API_SERVER] = buildFailure(error);
  });
}
