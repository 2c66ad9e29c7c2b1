/** The sidebar: all pages of the site in the order in which one learns. */

import { pagesOf, sitePathOf, titleOf } from './pages.ts';

/** An item of the sidebar of VitePress. */
export interface SidebarItem {
  readonly text: string;
  readonly link?: string;
  readonly collapsed?: boolean;
  readonly items?: SidebarItem[];
}

interface Section {
  readonly text: string;
  /** The pages in their order. A page that does not exist is left out. */
  readonly pages: readonly string[];
  /** All other pages below this folder follow, by name. */
  readonly rest?: string;
  readonly collapsed?: boolean;
}

const SECTIONS: readonly Section[] = [
  {
    text: 'Guide',
    pages: [
      'README',
      'first-election',
      'orderly-stop',
      'fencing',
      'assignment',
      'scheduled-jobs',
      'processes-and-threads',
      'serve',
      'ui',
      'which-call',
    ].map((name) => `docs/guide/${name}.md`),
    rest: 'docs/guide/',
  },
  {
    text: 'Using it',
    pages: ['guarantees', 'timing', 'stores', 'operations', 'testing', 'peer-elections'].map((name) => `docs/${name}.md`),
  },
  {
    text: 'Migrating',
    pages: ['README', 'redlock', 'etcd3', 'curator', 'client-go', 'consul-lock', 'advisory-locks'].map(
      (name) => `docs/migrating/${name}.md`,
    ),
    rest: 'docs/migrating/',
  },
  {
    text: 'Reference',
    pages: [
      'docs/reference/options.md',
      'docs/reference/errors.md',
      'docs/reference/events.md',
      'docs/reference/spans.md',
      'docs/glossary.md',
    ],
    rest: 'docs/reference/',
  },
  {
    text: 'Packages',
    pages: [
      'incumbent',
      'cli',
      'cron',
      'core',
      'sqlite',
      'etcd',
      'zookeeper',
      'consul',
      'kubernetes',
      'postgres',
      'redis',
      'memory',
      'peer',
      'reaper',
    ].map((name) => `packages/${name}/README.md`),
    rest: 'packages/',
    collapsed: true,
  },
  { text: 'Examples', pages: ['examples/README.md'], rest: 'examples/', collapsed: true },
  { text: 'API', pages: ['docs/api/README.md', 'docs/api/incumbent.md'], rest: 'docs/api/', collapsed: true },
  { text: 'Decisions', pages: ['docs/decisions/README.md'], rest: 'docs/decisions/', collapsed: true },
  { text: 'How it works', pages: ['docs/architecture.md'], rest: 'docs/', collapsed: true },
];

const NAV: readonly (readonly [text: string, page: string])[] = [
  ['Guide', 'docs/guide/README.md'],
  ['Stores', 'docs/stores.md'],
  ['Migrating', 'docs/migrating/README.md'],
  ['Errors', 'docs/reference/errors.md'],
  ['API', 'docs/api/README.md'],
  ['Glossary', 'docs/glossary.md'],
];

/** The page with the hero, which the logo links to. */
export const HOME = 'docs/README.md';

/** The sidebar of the pages that exist. Sections without pages are left out. */
export function sidebarOf(pages: readonly string[] = pagesOf()): SidebarItem[] {
  const left = new Set(pages.filter((page) => page !== HOME));
  return SECTIONS.flatMap(({ text, pages: first, rest, collapsed }) => {
    const ordered = [...first, ...[...left].filter((page) => rest !== undefined && page.startsWith(rest))];
    const items = [...new Set(ordered)].filter((page) => left.delete(page)).map(itemOf);
    return items.length === 0 ? [] : [{ text, items, ...(collapsed === undefined ? {} : { collapsed }) }];
  });
}

/** The links at the top: those whose pages exist. */
export function navOf(pages: readonly string[] = pagesOf()): { readonly text: string; readonly link: string }[] {
  return NAV.flatMap(([text, page]) => (pages.includes(page) ? { text, link: urlOf(page) } : []));
}

function itemOf(page: string): SidebarItem {
  return { text: titleOf(page), link: urlOf(page) };
}

function urlOf(page: string): string {
  return `/${sitePathOf(page).replace(/(?:index)?\.md$/, '')}`;
}
