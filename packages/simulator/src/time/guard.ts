/** While a world runs in one turn of the loop, whatever reads the machine's own time or chance throws: it would differ from run to run. */

const FORBIDDEN = ['Date', 'performance', 'setTimeout', 'setInterval', 'setImmediate', 'fetch', 'crypto'] as const;

/** Runs `body` with the machine's clocks, timers and chance out of reach; what it throws is thrown. */
export function guarded(body: () => void): void {
  const restore = [...FORBIDDEN.map((name) => forbid(globalThis, name)), forbid(Math, 'random')];
  try {
    body();
  } finally {
    for (const one of restore) one();
  }
}

function forbid(owner: object, name: string): () => void {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  if (before === undefined) return () => {};
  const refuse = (): never => {
    throw new Error(`${name} was used in a simulation: it is not the same in every run`);
  };
  Object.defineProperty(owner, name, { configurable: true, get: refuse });
  return () => Object.defineProperty(owner, name, before);
}
