/** What the director and its members say to each other, over Node's channel between a parent and a child. Moments are those of `clock.ts`. */

export const ELECTION = 'demo';
/** Where the job of the leader keeps its state. */
export const ORDERS_KEY = 'demo/orders';
/** What the member that stood still tries to write when it wakes. */
export const LATE_KEY = 'demo/late';

export type Command =
  /** Stop right after the next look at `isValid()`, before the write that was to follow it. */
  { readonly type: 'pause' } | { readonly type: 'handOver'; readonly to: string };

export type MemberEvent =
  /** Its work begins. */
  | { readonly type: 'leads'; readonly term: bigint; readonly at: number }
  /** Its leadership is over, and it knows. */
  | { readonly type: 'ended'; readonly term: bigint; readonly at: number }
  /** `isValid()` said yes at `from`, at `to`, and whenever it was asked between them; it was asked so often in all. */
  | { readonly type: 'believed'; readonly term: bigint; readonly from: number; readonly to: number; readonly asked: number }
  /** The job gave a number to an order, and the store has it. */
  | { readonly type: 'numbered'; readonly term: bigint; readonly order: number }
  /** SIGSTOP follows at once. */
  | { readonly type: 'pausing'; readonly term: bigint; readonly at: number }
  /** The write went out after the pause. `valid`: what `isValid()` said then; `refused`: what the store said. */
  | { readonly type: 'wroteLate'; readonly term: bigint; readonly at: number; readonly valid: boolean; readonly refused: boolean };

const commands: readonly unknown[] = ['pause', 'handOver'] satisfies readonly Command['type'][];
const events: readonly unknown[] = [
  'leads',
  'ended',
  'believed',
  'numbered',
  'pausing',
  'wroteLate',
] satisfies readonly MemberEvent['type'][];

export function isCommand(message: unknown): message is Command {
  return commands.includes(typeOf(message));
}

export function isMemberEvent(message: unknown): message is MemberEvent {
  return events.includes(typeOf(message));
}

/** Both ends are ours, so that the type says the rest. */
function typeOf(message: unknown): unknown {
  return typeof message === 'object' && message !== null && 'type' in message ? message.type : undefined;
}

/** A member's word to the director. On its way when this returns: the next moment may bring a SIGKILL. */
export function tell(event: MemberEvent): void {
  process.send?.(event);
}
