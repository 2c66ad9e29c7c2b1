import { until } from '../until.ts';
import type { Instance } from './instance.ts';

/** A server did not start to serve. The message contains the end of its log. */
export class StartFailed extends Error {
  /** Another process has taken its port. It may start with another one. */
  readonly addressInUse: boolean;

  constructor(what: string, log: string, options?: ErrorOptions) {
    super(`${what} does not serve; its log ends with:\n${log}`, options);
    this.name = 'StartFailed';
    this.addressInUse = /address already in use/i.test(log);
  }
}

export interface ReadyOptions {
  readonly what: string;
  readonly withinMs: number;
}

/**
 * Checks a server repeatedly until it serves requests. Throws {@link StartFailed} as soon as it has
 * ended, or when `withinMs` are over.
 */
export async function ready(instance: Instance, serves: () => Promise<boolean>, { what, withinMs }: ReadyOptions): Promise<void> {
  const look = async (): Promise<'serves' | 'ended' | undefined> => {
    if (!(await instance.running())) return 'ended';
    return (await serves().catch(() => false)) ? 'serves' : undefined;
  };
  const outcome = await until(look, { what, withinMs }).catch(async (cause: unknown) => {
    throw new StartFailed(what, await instance.logTail(), { cause });
  });
  if (outcome === 'ended') throw new StartFailed(what, await instance.logTail());
}
