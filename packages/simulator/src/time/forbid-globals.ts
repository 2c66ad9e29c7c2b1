/**
 * While a world runs in one turn of the event loop, code that reads the machine's own time or
 * random numbers throws, because it would differ from run to run.
 */

const FORBIDDEN = ['Date', 'performance', 'setTimeout', 'setInterval', 'setImmediate', 'fetch', 'crypto'] as const;

/**
 * Runs `body` while the machine's clocks, timers and random numbers throw. Throws what `body`
 * throws.
 */
export function guarded(body: () => void): void {
  const restore = [...FORBIDDEN.map((name) => forbid(name)), forbidChance()];
  try {
    body();
  } finally {
    for (const one of restore) one();
  }
}

function forbid(name: string): () => void {
  const before = Object.getOwnPropertyDescriptor(globalThis, name);
  if (before === undefined) return () => {};
  Object.defineProperty(globalThis, name, { configurable: true, get: () => refuse(name) });
  return () => Object.defineProperty(globalThis, name, before);
}

/**
 * Assigns the properties: if a property of `Math` were redefined, V8 would use slow lookups for all
 * of them from then on.
 */
function forbidChance(): () => void {
  const before = Math.random;
  Math.random = () => refuse('Math.random');
  return () => {
    Math.random = before;
  };
}

function refuse(name: string): never {
  const remedy = 'Use the clock and the random numbers of the simulated process';
  throw new Error(`${name} was used in a simulation: it is not the same in every run. ${remedy}`);
}
