/** Lets pages outside docs/, which has Vue installed, be compiled to components of Vue. */

import { join } from 'node:path';
import type { Plugin } from 'vitepress';

const INSIDE = join(import.meta.dirname, 'resolve-vue.ts');

/** Resolves `vue` and its parts as seen from docs/, wherever the page is that imports them. */
export const resolveVue: Plugin = {
  name: 'resolve-vue',
  enforce: 'pre',
  resolveId(source, importer) {
    const isPage = importer !== undefined && importer.split('?')[0]?.endsWith('.md') === true;
    return isPage && /^vue(?:\/|$)/.test(source) ? this.resolve(source, INSIDE, { skipSelf: true }) : undefined;
  },
};
