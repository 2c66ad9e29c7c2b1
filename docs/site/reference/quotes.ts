/** The code of examples in pages. The example is the source; `pnpm reference` copies it. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../..');

/** A page below docs/ whose code blocks with a marker are copied from the example that it names. */
export const QUOTING_PAGES = ['testing.md'] as const;

/**
 * A marker and the block after it: `<!-- pnpm reference: FILE: BEGINNING + BEGINNING -->`. Each
 * beginning is that of the first line of a function, class or test of the file.
 */
const BLOCK = /^<!-- pnpm reference: (\S+): (.*) -->\n```ts\n[^]*?^```$/gm;

/** The text of a page, with the code that its examples have now. */
export function quotingPage(path: string): string {
  const page = readFileSync(join(root, 'docs', path), 'utf8');
  return withQuotes(page, (file) => readFileSync(join(root, file), 'utf8'));
}

/** @throws If a file has no line, or several lines, with a beginning that a marker names. */
export function withQuotes(page: string, textOf: (file: string) => string): string {
  return page.replaceAll(BLOCK, (_, file: string, beginnings: string) => {
    const parts = beginnings.split(' + ').map((beginning) => partOf(textOf(file), beginning, file));
    return `<!-- pnpm reference: ${file}: ${beginnings} -->\n\`\`\`ts\n${parts.join('\n\n')}\n\`\`\``;
  });
}

/** The lines from the one with this beginning to the next one that closes it. */
function partOf(text: string, beginning: string, file: string): string {
  const lines = text.split('\n');
  const starts = lines.flatMap((line, index) => (line.startsWith(beginning) ? [index] : []));
  const [start] = starts;
  if (start === undefined || starts.length > 1)
    throw new Error(`${file} has ${starts.length} lines that begin with ${beginning}`);
  const end = lines.findIndex((line, index) => index > start && line.startsWith('}'));
  return lines.slice(start, end + 1).join('\n');
}
