/** The result of one check of `doctor`. */

export interface Finding {
  /**
   * `warning`: elections work, with the limit that `detail` states. `failure`: they do not work.
   */
  readonly level: 'ok' | 'warning' | 'failure';
  readonly what: string;
  readonly detail: string;
  /** Measured values, for the JSON output. */
  readonly figures?: Readonly<Record<string, unknown>>;
}

export function ok(what: string, detail: string, figures?: Finding['figures']): Finding {
  return figures === undefined ? { level: 'ok', what, detail } : { level: 'ok', what, detail, figures };
}

export function warning(what: string, detail: string, figures?: Finding['figures']): Finding {
  return { ...ok(what, detail, figures), level: 'warning' };
}

export function failure(what: string, error: unknown): Finding {
  const message = error instanceof Error ? error.message : String(error);
  return { level: 'failure', what, detail: error instanceof Error && 'code' in error ? `${String(error.code)}: ${message}` : message };
}
