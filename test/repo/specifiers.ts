const comments = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;
const specifier = /(?:\bfrom|\bimport|\brequire|\bimport\.meta\.resolve)\s*\(?\s*(['"])([^'"\n]+)\1/g;

/**
 * What a module imports in any way: statements, types, re-exports, and `import()` and `require()`
 * of a plain string.
 */
export function specifiersOf(source: string): readonly string[] {
  return [...source.replaceAll(comments, '').matchAll(specifier)].flatMap(([, , name]) => (name === undefined ? [] : [name]));
}

/** The package that a bare specifier names: `@scope/name/deep` is of `@scope/name`. */
export function packageOf(bare: string): string {
  return bare
    .split('/')
    .slice(0, bare.startsWith('@') ? 2 : 1)
    .join('/');
}
