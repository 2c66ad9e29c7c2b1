/** What `doctor` finds. */

export interface Finding {
  /** `warning`: worth knowing, and no reason not to go on. `failure`: elections do not work, or not as asked. */
  readonly level: 'ok' | 'warning' | 'failure';
  readonly what: string;
  readonly detail: string;
  /** Figures, for programs. */
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
