/** The messages between the members' processes and the parent process. */

/** From a member. The number of a leadership is its term or, with best effort, its round. */
export type Report =
  | { readonly type: 'leads'; readonly number: number | bigint }
  | { readonly type: 'ended'; readonly reason: string }
  /** The leader that it sees. Undefined if it knows of none. */
  | { readonly type: 'sees'; readonly leader: string | undefined; readonly number: number | bigint | undefined }
  | { readonly type: 'failed'; readonly why: string };

/** To a member. */
export type Order = 'cut' | 'heal' | 'close';

export function isOrder(message: unknown): message is Order {
  return message === 'cut' || message === 'heal' || message === 'close';
}

export function isReport(message: unknown): message is Report {
  return typeof message === 'object' && message !== null && 'type' in message;
}
