import { expect, test } from 'vitest';

import { filesOf, textOf } from './workspace.ts';

const DIGEST = '@sha256:[0-9a-f]{64}';
/** An image of a store with its version, but none that `pnpm images` builds. */
const STORE_IMAGE =
  /(?<![\w./-])(?!incumbent\/)(?:[\w.-]+\/)*(?:consul|etcd|postgres|redis|valkey|zookeeper):v?\d+\.\d[\w.-]*(?:@sha256:[0-9a-f]{64})?/g;

const workflows = filesOf('.github/**/*.{yaml,yml}');
const yaml = [...workflows, ...filesOf('**/*.{yaml,yml}')].filter((path) => path !== 'pnpm-lock.yaml');

/**
 * What the matches of a pattern's first group name in these files, without those that end as they
 * should.
 */
function wrongIn(files: readonly string[], pattern: RegExp, right: RegExp): readonly string[] {
  return files.flatMap((path) =>
    [...textOf(path).matchAll(pattern)]
      .map(([all, named = all]) => named)
      .filter((named) => !right.test(named))
      .map((named) => `${path}: ${named}`),
  );
}

test('every image of a compose file or a workflow is pinned by its digest', () => {
  expect(yaml.filter((path) => path.startsWith('docker/'))).toHaveLength(7);
  // An image in a reserved domain stands for one of the reader's.
  const right = new RegExp(`${DIGEST}\\}?$|^registry\\.example\\.com/`);
  expect(wrongIn(yaml, /^\s*(?:- )?(?:image|container): *(\S.*)$/gm, right)).toEqual([]);
});

test('every base image of a Dockerfile is a named stage, or an argument that is pinned by its digest', () => {
  const dockerfiles = filesOf('**/Dockerfile');
  expect(dockerfiles).toEqual(['docker/Dockerfile']);
  expect(wrongIn(dockerfiles, /^FROM (\S+)/gm, /^\$\{\w+_IMAGE\}$/)).toEqual([]);
  expect(wrongIn(dockerfiles, /^ARG \w+_IMAGE=(\S+)/gm, new RegExp(`${DIGEST}$|^\\$\\{\\w+_IMAGE\\}$`))).toEqual([]);
});

test('the image of the command has the version of its package, in its Dockerfile and wherever it is named', () => {
  const { version }: { readonly version: string } = JSON.parse(textOf('packages/cli/package.json'));
  expect(textOf('docker/Dockerfile')).toContain(`\nARG VERSION=${version}\n`);
  const naming = filesOf('**/{*.md,*.yaml,Dockerfile}');
  expect(naming.filter((path) => textOf(path).includes('registry.example.com/incumbent:'))).toContain('examples/kubernetes/sidecar.yaml');
  expect(wrongIn(naming, /\bregistry\.example\.com\/incumbent(?::[\w.-]*\w)?/g, new RegExp(`:${version}$`))).toEqual([]);
});

test('every action of a workflow is pinned by its commit', () => {
  expect(workflows).not.toEqual([]);
  expect(wrongIn(workflows, /\buses: *(\S+)/g, /@[0-9a-f]{40}$/)).toEqual([]);
});

test('every image of a store that the code, the tests or a page names is pinned by its digest', () => {
  // The test of the tool that pins images makes its own.
  const code = filesOf('**/*.{md,ts,yaml}').filter((path) => path !== 'test/support/test/pin.test.ts');
  const named = code.filter((path) => STORE_IMAGE.test(textOf(path)));
  expect(named).toContain('test/support/src/servers/etcd/image.ts');
  expect(wrongIn(code, STORE_IMAGE, new RegExp(`${DIGEST}$`))).toEqual([]);
});
