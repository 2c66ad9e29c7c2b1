/** The changes that the site makes to Markdown: links lead to pages, or to the code host. */

import type { MarkdownRenderer } from 'vitepress';
import { linkOnSite, pathInRepository } from './pages.ts';

/** Rewrites the links of a page before VitePress checks them. */
export function rewriteLinks(md: MarkdownRenderer): void {
  md.core.ruler.push('links-on-site', ({ tokens, env }) => {
    const page = pageOf(env);
    if (page === undefined) return;
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null;
      if (href !== null) token.attrSet('href', linkOnSite(href, page));
    }
  });
}

/**
 * The path of the file that is rendered, relative to the repository. Undefined for a text without a
 * file: VitePress renders a title a second time, for the head of the page.
 */
function pageOf(env: unknown): string | undefined {
  if (typeof env !== 'object' || env === null || !('realPath' in env)) return undefined;
  return typeof env.realPath === 'string' ? pathInRepository(env.realPath) : undefined;
}
