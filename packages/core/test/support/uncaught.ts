/** Collects the uncaught exceptions that Node raises during a test, so that they do not fail it. */

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
