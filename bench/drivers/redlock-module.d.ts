/** The `exports` of redlock hide its types. This declares what is used of it. */
declare module 'redlock' {
  interface Settings {
    readonly retryCount?: number;
  }

  interface Signal extends AbortSignal {
    readonly error?: Error;
  }

  export default class Redlock {
    constructor(clients: Iterable<unknown>, settings?: Settings);
    using<T>(resources: readonly string[], durationMs: number, routine: (signal: Signal) => Promise<T>): Promise<T>;
  }
}
