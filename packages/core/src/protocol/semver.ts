/** Versions of programs, as Semantic Versioning 2.0.0 defines and orders them (semver.org). */

const NUMBER = String.raw`(?:0|[1-9]\d*)`;
const IDENTIFIER = String.raw`(?:${NUMBER}|\d*[A-Za-z-][0-9A-Za-z-]*)`;
const VERSION = new RegExp(
  String.raw`^(${NUMBER}\.${NUMBER}\.${NUMBER}(?:-${IDENTIFIER}(?:\.${IDENTIFIER})*)?)(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$`,
);

/** The most characters in a version: a part of the name of a candidate's entry. */
const MAX_CHARACTERS = 64;

/**
 * The part of a version that decides its order: all but the build metadata. Undefined for anything
 * that is not a version.
 */
export function precedenceOf(version: unknown): string | undefined {
  if (typeof version !== 'string' || version.length > MAX_CHARACTERS) return undefined;
  return VERSION.exec(version)?.[1];
}

/**
 * Below 0 if `a` is the older one. Takes what `precedenceOf` returns. Any other text is older than
 * every version.
 */
export function compareVersions(a: string, b: string): number {
  const [x, y] = [VERSION.exec(a)?.[1], VERSION.exec(b)?.[1]];
  if (x === undefined || y === undefined) return Number(x !== undefined) - Number(y !== undefined);
  const [core, pre] = split(x);
  const [otherCore, otherPre] = split(y);
  const byCore = compareLists(core, otherCore);
  if (byCore !== 0) return byCore;
  // A version without a pre-release is newer than its pre-releases.
  if (pre === undefined || otherPre === undefined) return Number(pre === undefined) - Number(otherPre === undefined);
  return compareLists(pre, otherPre);
}

function split(version: string): readonly [core: readonly string[], pre: readonly string[] | undefined] {
  const [core = '', ...pre] = version.split('-');
  return [core.split('.'), pre.length === 0 ? undefined : pre.join('-').split('.')];
}

/** Of two lists of which one begins with the other, the longer one is the newer one. */
function compareLists(a: readonly string[], b: readonly string[]): number {
  for (const [index, identifier] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    const order = compareIdentifiers(identifier, other);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** Numbers are older than words. Without leading zeros, a longer number is the higher one. */
function compareIdentifiers(a: string, b: string): number {
  const isNumber = /^\d+$/.test(a);
  if (isNumber !== /^\d+$/.test(b)) return isNumber ? -1 : 1;
  if (isNumber && a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : Number(a > b);
}
