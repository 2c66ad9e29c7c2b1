/**
 * The `exports` of redlock hide its types. This declares what the benchmark and the programs of
 * `examples/migrating` use of them.
 */
declare module 'redlock' {
  interface Settings {
    readonly retryCount?: number;
    readonly automaticExtensionThreshold?: number;
  }

  interface Signal extends AbortSignal {
    readonly error?: Error;
  }

  export default class Redlock {
    constructor(clients: Iterable<unknown>, settings?: Settings);
    using<T>(resources: readonly string[], durationMs: number, routine: (signal: Signal) => Promise<T>): Promise<T>;
    using<T>(resources: readonly string[], durationMs: number, settings: Settings, routine: (signal: Signal) => Promise<T>): Promise<T>;
    quit(): Promise<void>;
  }
}
