/** What the processes of the cluster and the one that started them say to each other. */

/** From a member. A leadership's number is its term, or, by best effort, its round. */
export type Told =
  | { readonly type: 'leads'; readonly number: number | bigint }
  | { readonly type: 'ended'; readonly reason: string }
  /** Whom it takes for the leader; undefined: it knows of none. */
  | { readonly type: 'sees'; readonly leader: string | undefined; readonly number: number | bigint | undefined }
  | { readonly type: 'failed'; readonly why: string };

/** To a member. */
export type Order = 'cut' | 'heal' | 'close';

export function isOrder(message: unknown): message is Order {
  return message === 'cut' || message === 'heal' || message === 'close';
}

export function isTold(message: unknown): message is Told {
  return typeof message === 'object' && message !== null && 'type' in message;
}
