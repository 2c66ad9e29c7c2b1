/** Changes one source file while Node loads it. `PLANTED` names the bug. */

import { registerHooks } from 'node:module';
import type { Bug } from './bug.ts';

/**
 * Call it before any other module is loaded. Throws if there is no such bug, or if the text that it
 * replaces is not in the source any more.
 */
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
