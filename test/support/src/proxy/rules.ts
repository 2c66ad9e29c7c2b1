/** What happens to the bytes of one direction. */
export type Rule =
  /** They are handed on. */
  | { readonly kind: 'pass' }
  /** Each is handed on so many ms after it came; the order stays. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** They wait, and the sender is held back once the buffers are full. Nothing is lost. */
  | { readonly kind: 'hold' }
  /** They are gone, and so is the news that the sender closed or reset the connection. */
  | { readonly kind: 'drop' };

/**
 * What happens to both directions of a connection: requests go from client to server, replies come
 * back.
 */
export interface Rules {
  readonly requests: Rule;
  readonly replies: Rule;
}

export const PASS: Rule = { kind: 'pass' };
export const HOLD: Rule = { kind: 'hold' };
export const DROP: Rule = { kind: 'drop' };

export const PASS_ALL: Rules = { requests: PASS, replies: PASS };

export const DROP_ALL: Rules = { requests: DROP, replies: DROP };

export type Direction = 'requests' | 'replies' | 'both';

/** The rule for one direction or for both; the other one passes. */
export function towards(direction: Direction, rule: Rule): Rules {
  return {
    requests: direction === 'replies' ? PASS : rule,
    replies: direction === 'requests' ? PASS : rule,
  };
}
