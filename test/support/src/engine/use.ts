import type { Engine } from './engine.ts';
import { findEngine } from './find.ts';
import { startEngine, type OwnEngineOptions } from './own.ts';

/** A container engine that this process uses. */
export interface UsedEngine extends AsyncDisposable {
  readonly engine: Engine;
  /**
   * Returns a command that runs `command` where the published ports of containers are reachable.
   */
  within(command: readonly string[]): readonly string[];
}

/**
 * Uses the engine that answers on this machine, or starts one. Until it is disposed of, this
 * process and its children take their servers from it. Throws `StoreUnavailable` if there is none.
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

/** Sets environment variables until it is disposed of. */
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
