export type { OutputStream } from './printer.ts';
export type { Surroundings } from './surroundings.ts';

export { Exit } from './exit.ts';
export { Printer } from './printer.ts';
export { runCli } from './cli.ts';
