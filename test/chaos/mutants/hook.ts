/** Loaded before everything else: changes one source file as it is read, by the name of a mutant in `MUTANT`. */

import { registerHooks } from 'node:module';
import { mutants } from './mutants.ts';

const chosen = mutants.find(({ name }) => name === process.env['MUTANT']);
if (chosen === undefined) throw new Error(`no such mutant: ${process.env['MUTANT']}`);
const { file, from, to } = chosen;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith(`/packages/${file}`)) return loaded;
    const source = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source ?? new Uint8Array());
    if (source.split(from).length !== 2) throw new Error(`the mutant does not fit ${file} any more: the text is not there once`);
    return { ...loaded, source: source.replace(from, () => to) };
  },
});
