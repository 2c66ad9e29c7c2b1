/**
 * Calls a function of the user, which may be async, and does not await it. Calls `fail` with the
 * error if the function throws or rejects.
 */
export function runCallback(callback: () => unknown, fail: (error: unknown) => void): void {
  try {
    const result = callback();
    if (result instanceof Promise) result.catch(fail);
  } catch (error) {
    fail(error);
  }
}
