import type { Engine } from './engine.ts';
import { findEngine } from './find.ts';
import { startEngine, type OwnEngineOptions } from './own.ts';

/** A container engine that is this process's to use. */
export interface UsedEngine extends AsyncDisposable {
  readonly engine: Engine;
  /** A command that runs this one where the ports that containers publish are. */
  within(command: readonly string[]): readonly string[];
}

/**
 * Gives the engine that answers on this machine, or starts one, and has this process and its
 * children take their servers from it, until it is disposed of. Throws `StoreUnavailable` where
 * there is none to be had.
 */
export async function useEngine(options: OwnEngineOptions = {}): Promise<UsedEngine> {
  const found = await findEngine();
  if (found !== undefined) return { engine: found, within: (command) => command, ...using({ DOCKER_HOST: found.url }) };
  const own = await startEngine(options);
  const environment = using(own.env);
  return {
    engine: own.engine,
    within: (command) => own.within(command),
    async [Symbol.asyncDispose]() {
      await environment[Symbol.asyncDispose]();
      await own.stop();
    },
  };
}

/** Sets variables of the environment, until it is disposed of. */
function using(env: Readonly<Record<string, string>>): AsyncDisposable {
  const before = Object.keys(env).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, env);
  return {
    async [Symbol.asyncDispose]() {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    },
  };
}
