/** Leader election for Fastify: work that runs in one process of a service. */

export { incumbent } from './plugin.ts';
export type { IncumbentOptions } from './plugin.ts';
export type { ElectionHost } from 'incumbent/host';
