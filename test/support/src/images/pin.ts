/** Pins the images of a registry by their digests in the files that name them. */

import { run } from '../run.ts';

/**
 * `image: ${NAME:-registry/name:1.2.3}` of a compose file, `ARG NAME=registry/name:1.2.3` of a
 * Dockerfile, and `published: 'registry/name:1.2.3'` of an `ImageSource`.
 */
const NAMED = /(?<before>\bimage: \$\{\w+:-|\bARG \w+=|\bpublished: ')(?<tag>[\w./-]+:[\w.-]+)(?:@sha256:[0-9a-f]{64})?(?=[}'\n])/g;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

/**
 * Finds the digest of `name:tag`: `sha256:` and 64 hexadecimal digits. Rejects if there is none.
 */
type FindDigest = (tag: string) => Promise<string>;

/** The images that a text names, each once, without digests. */
export function imagesIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(NAMED)].map(({ groups }) => groups?.['tag'] ?? ''))];
}

/** The text with each image as `name:tag@digest`. Replaces existing digests. */
export function pinImages(text: string, digests: ReadonlyMap<string, string>): string {
  return text.replaceAll(NAMED, (named: string, before: string, tag: string) => {
    const digest = digests.get(tag);
    return digest === undefined ? named : `${before}${tag}@${digest}`;
  });
}

/**
 * The digest of the list of an image's platforms, from the registry. Rejects if the registry is
 * unreachable or has no such image.
 */
async function askRegistry(tag: string): Promise<string> {
  const digest = (await run('docker', ['buildx', 'imagetools', 'inspect', tag, '--format', '{{.Manifest.Digest}}'])).trim();
  if (!DIGEST.test(digest)) throw new Error(`the registry's answer for ${tag} has no digest: ${digest}`);
  return digest;
}

/**
 * Finds the digest of each image. Rejects if one is missing, so that files are changed for all
 * images or for none.
 */
export async function digestsOf(tags: readonly string[], find: FindDigest = askRegistry): Promise<ReadonlyMap<string, string>> {
  const digests = new Map<string, string>();
  for (const tag of new Set(tags)) digests.set(tag, await find(tag));
  return digests;
}
