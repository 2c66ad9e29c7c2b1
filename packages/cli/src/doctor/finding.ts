/** The result of one check of `doctor`. */

import type { FindingLine } from '../common/output.ts';

export type Finding = Omit<FindingLine, 'type'>;

export function ok(what: string, detail: string, figures?: Finding['figures']): Finding {
  return { level: 'ok', what, detail, figures };
}

export function warning(what: string, detail: string, figures?: Finding['figures']): Finding {
  return { ...ok(what, detail, figures), level: 'warning' };
}

export function failure(what: string, error: unknown): Finding {
  const message = error instanceof Error ? error.message : String(error);
  return { level: 'failure', what, detail: error instanceof Error && 'code' in error ? `${String(error.code)}: ${message}` : message };
}
