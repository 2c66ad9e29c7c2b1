/** Catches what Node raises as an uncaught exception, as a process under test would see it, instead of failing the run. */

export async function uncaughtDuring(body: () => Promise<void>): Promise<readonly unknown[]> {
  const caught: unknown[] = [];
  const listeners = process.listeners('uncaughtException');
  const catchIt = (error: unknown): void => void caught.push(error);
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', catchIt);
  try {
    await body();
  } finally {
    process.off('uncaughtException', catchIt);
    for (const listener of listeners) process.on('uncaughtException', listener);
  }
  return caught;
}
