/** What happens to the bytes of one direction. */
export type Rule =
  /** They are delivered. */
  | { readonly kind: 'pass' }
  /** Each is delivered this many ms after it arrived, in order. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** They wait, and the sender is slowed down once the buffers are full. Nothing is lost. */
  | { readonly kind: 'hold' }
  /** They are lost, and so is the sender's end or reset of the connection. */
  | { readonly kind: 'drop' };

/**
 * The rules of both directions of a connection: requests go from client to server, and replies come
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

/** The rule for one direction or for both. Bytes of the other direction pass. */
export function towards(direction: Direction, rule: Rule): Rules {
  return {
    requests: direction === 'replies' ? PASS : rule,
    replies: direction === 'requests' ? PASS : rule,
  };
}
