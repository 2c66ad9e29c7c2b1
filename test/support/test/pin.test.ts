import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { composeImages, digestsOf, imagesIn, pinImages } from '@incumbent/test-support';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const FILES = globSync(['docker/*.yaml', 'docker/Dockerfile', 'test/support/src/servers/*/image.ts'], { cwd: ROOT });
const texts = FILES.map((file) => readFileSync(join(ROOT, file), 'utf8'));

const A = `sha256:${'a'.repeat(64)}`;
const B = `sha256:${'b'.repeat(64)}`;

const compose = (digest = ''): string => 'image: ${INCUMBENT_ETCD_IMAGE:-quay.io/coreos/etcd:v3.5.21' + digest + '}\n  command: [etcd]\n';
const dockerfile = (digest = ''): string => `ARG NODE_IMAGE=node:24.21.0-slim${digest}\nARG VERSION=0.1.0\nFROM \${NODE_IMAGE}\n`;
const source = (digest = ''): string => `  published: 'redis:7.0.15${digest}',\n  name: 'incumbent/redis:bookworm',\n`;

it('an image of a compose file, a Dockerfile and an image source is pinned, and nothing else is changed', () => {
  const digests = new Map([
    ['quay.io/coreos/etcd:v3.5.21', A],
    ['node:24.21.0-slim', A],
    ['redis:7.0.15', B],
  ]);
  expect(pinImages(compose() + dockerfile() + source(), digests)).toBe(compose(`@${A}`) + dockerfile(`@${A}`) + source(`@${B}`));
});

it('an image that is pinned gets the present digest; one without a digest stays as it is', () => {
  expect(pinImages(source(`@${A}`), new Map([['redis:7.0.15', B]]))).toBe(source(`@${B}`));
  expect(pinImages(source(`@${A}`), new Map([['redis:7.0.16', B]]))).toBe(source(`@${A}`));
  expect(imagesIn(source(`@${A}`) + source() + compose())).toEqual(['redis:7.0.15', 'quay.io/coreos/etcd:v3.5.21']);
});

it('the registry is asked once for each image, and no digest is had where one is missing', async () => {
  const asked: string[] = [];
  const find = async (tag: string): Promise<string> => {
    asked.push(tag);
    if (tag === 'none:1') throw new Error('no such image');
    return A;
  };
  expect(await digestsOf(['a:1', 'b:2', 'a:1'], find)).toEqual(
    new Map([
      ['a:1', A],
      ['b:2', A],
    ]),
  );
  expect(asked).toEqual(['a:1', 'b:2']);
  await expect(digestsOf(['a:1', 'none:1'], find)).rejects.toThrow('no such image');
});

it('every image of the compose files and of the tests is found in the files, with one digest in all of them', () => {
  const found = texts.flatMap(imagesIn);
  const published = Object.values(composeImages).map((image) => image.published.replace(/@.*/, ''));
  expect(found).toEqual(expect.arrayContaining(published));
  // Of each store, one in its compose file; Node of the Dockerfile; and all that the tests know.
  expect(found).toHaveLength(7 + texts.join('').match(/\bpublished: /g)!.length);
  const digests = (tag: string): ReadonlySet<string> =>
    new Set(texts.flatMap((text) => text.split(/[\s'}]/)).flatMap((word) => word.split(`${tag}@`).slice(1)));
  expect(found.map((tag) => digests(tag).size)).toEqual(found.map(() => 1));
});
