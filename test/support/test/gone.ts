import { until } from '../src/index.ts';
import { ask } from '../src/servers/http.ts';

/** Resolves when nobody listens at this address of HTTP any more. */
export function gone(url: string): Promise<boolean> {
  return until(() => refuses(url), { what: `nobody at ${url}` });
}

function refuses(url: string): Promise<boolean> {
  return ask(url, { timeoutMs: 200 }).then(
    () => false,
    (error: unknown) => error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED',
  );
}
