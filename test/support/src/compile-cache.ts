import { join } from 'node:path';
import { cacheFolder } from './servers/cache.ts';

/**
 * Part of the environment of a Node process that a test starts. Node keeps what it has compiled in
 * this folder, by the content of each file: compiling takes most of the time of a short process.
 */
export function compileCache(): { readonly NODE_COMPILE_CACHE: string } {
  return { NODE_COMPILE_CACHE: join(cacheFolder(), 'compiled') };
}
