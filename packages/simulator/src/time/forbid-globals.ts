/** While a world runs in one turn of the loop, whatever reads the machine's own time or chance throws: it would differ from run to run. */

const FORBIDDEN = ['Date', 'performance', 'setTimeout', 'setInterval', 'setImmediate', 'fetch', 'crypto'] as const;

/** Runs `body` with the machine's clocks, timers and chance out of reach; what it throws is thrown. */
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

/** By assignment: were a property of `Math` defined anew, V8 would look all of them up the slow way from then on. */
function forbidChance(): () => void {
  const before = Math.random;
  Math.random = () => refuse('random');
  return () => {
    Math.random = before;
  };
}

function refuse(name: string): never {
  throw new Error(`${name} was used in a simulation: it is not the same in every run`);
}
