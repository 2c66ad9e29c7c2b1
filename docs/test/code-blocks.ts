/** The TypeScript in the pages of docs/ and of the packages. */

import { filesOf, textOf } from '../../test/repo/workspace.ts';

/** A fenced block that is marked `ts`. */
export interface CodeBlock {
  readonly page: string;
  /** The line of its fence. */
  readonly line: number;
  /** True if the fence says `ts no-check`. */
  readonly isUnchecked: boolean;
  readonly code: string;
}

/**
 * The blocks of the pages of packages, and of all pages below docs/ that are written by hand or by
 * `pnpm reference`.
 */
export function codeBlocks(): readonly CodeBlock[] {
  return [...filesOf('docs/**/*.md'), ...filesOf('packages/*/README.md')].filter((page) => !page.startsWith('docs/api/')).flatMap(blocksOf);
}

function blocksOf(page: string): readonly CodeBlock[] {
  const text = textOf(page);
  return [...text.matchAll(/^```ts( no-check)?\n([^]*?)^```$/gm)].map(({ index, 1: mark, 2: code = '' }) => ({
    page,
    line: text.slice(0, index).split('\n').length,
    isUnchecked: mark !== undefined,
    code,
  }));
}
