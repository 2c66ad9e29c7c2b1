/**
 * The site of the documentation (docs/decisions/0050-site.md). `pnpm run docs` builds the site
 * into docs/.vitepress/dist. A dead link between pages fails the build.
 */

import { defineConfig } from 'vitepress';
import { resolveVue } from '../site/resolve-vue.ts';
import { rewriteLinks } from '../site/markdown.ts';
import { anchorOf, pagesOf, REPOSITORY, sitePathOf } from '../site/pages.ts';
import { navOf, sidebarOf } from '../site/sidebar.ts';

export default defineConfig({
  title: 'Incumbent',
  description: 'Leader election for Node services, over the store you already trust',
  lang: 'en',
  srcDir: '..',
  srcExclude: ['*.md', 'bench/**', 'docker/**', 'test/**', 'scripts/**', 'packages/*/*/**', 'examples/*/*/**'],
  rewrites: Object.fromEntries(pagesOf().map((page) => [page, sitePathOf(page)])),
  lastUpdated: false,
  markdown: {
    anchor: { slugify: anchorOf },
    config: (md) => void md.use(rewriteLinks),
  },
  vite: {
    plugins: [resolveVue],
    // VitePress's own bundle is larger than Vite's limit for a warning.
    build: { chunkSizeWarningLimit: 2_000 },
  },
  themeConfig: {
    nav: navOf(),
    sidebar: sidebarOf(),
    outline: [2, 3],
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
  },
});
