/** Changes one source file as it is read, by the name of a bug in `PLANTED`. */

import { registerHooks } from 'node:module';
import type { Bug } from './bug.ts';

/** To be called before anything else is loaded. Throws where there is no such bug, or it does not fit the source any more. */
export function plant(bugs: readonly Bug[]): void {
  const chosen = bugs.find(({ name }) => name === process.env['PLANTED']);
  if (chosen === undefined) throw new Error(`no such bug: ${process.env['PLANTED']}`);
  const { file, from, to } = chosen;
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.endsWith(`/packages/peer/src/${file}`)) return loaded;
      const source = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source ?? new Uint8Array());
      if (source.split(from).length !== 2) throw new Error(`the bug does not fit ${file} any more: the text is not there once`);
      return { ...loaded, source: source.replace(from, () => to) };
    },
  });
}
