/**
 * The messages between a process (the parent) and its reaper process: one line of JSON each, over a
 * pipe that only these two have.
 *
 * Times are in ms. `wall…` is the wall clock; all other times are the machine's monotonic clock
 * (`CLOCK_MONOTONIC`), which has the same value in every process of the machine.
 */

/**
 * A process, or the first process of a group. `started` distinguishes it from a later one with the
 * same id.
 */
export interface ProcessId {
  readonly pid: number;
  /** Start time as the kernel reports it; absent on systems that do not report it. */
  readonly started?: string;
}

/** What the parent sends to its reaper process. */
export type ParentMessage =
  /** The first message: the parent's id, and the namespaces in which that id is valid. */
  | (ProcessId & { readonly type: 'parent'; readonly space?: string })
  /** How to revoke leases of one open store. Contains secrets. */
  | { readonly type: 'store'; readonly store: number; readonly module: string; readonly access: string }
  /** No lease of this store is watched any more, nor will be. */
  | { readonly type: 'dropStore'; readonly store: number }
  /**
   * A lease to revoke after the parent's death, and after the groups of the same owner are gone.
   * `ticket` may be a secret. Groups bound before `from`, when the member got the lease, do not
   * depend on it. Parents of older versions do not send `from`.
   */
  | {
      readonly type: 'lease';
      readonly lease: number;
      readonly store: number;
      readonly owner: number;
      readonly ticket: string;
      readonly from?: number;
    }
  /**
   * The lease was granted or renewed. The store certainly keeps it until `safeUntil`, so groups
   * that depend on it may run until then. By `overBy` it has expired unless it is renewed.
   */
  | {
      readonly type: 'renewed';
      readonly lease: number;
      readonly safeUntil: number;
      readonly wallSafeUntil: number;
      readonly overBy: number;
    }
  /**
   * No leadership is valid under this lease any more. Groups bound after `at` do not depend on it.
   */
  | { readonly type: 'ended'; readonly lease: number; readonly at: number }
  /** Do not revoke this lease: it is gone. Kill the groups that still depend on it. */
  | { readonly type: 'forget'; readonly lease: number }
  /**
   * A process group that must not outlive the parent, nor any lease of its owner that was valid at
   * the time `at`, when the group was bound.
   */
  | (ProcessId & { readonly type: 'group'; readonly owner: number; readonly at: number; readonly wallAt: number })
  /** The group with this id is no longer bound. */
  | { readonly type: 'release'; readonly pid: number }
  /** Exit now, and do nothing at the parent's death. */
  | { readonly type: 'end' };

/** What the reaper process sends to its parent. */
export type ReaperMessage =
  | { readonly type: 'ready' }
  /** The reaper exits, because it could never prove the parent's death. */
  | { readonly type: 'refused'; readonly why: string };

type Shape = Readonly<Record<string, 'number' | 'string' | 'number?' | 'string?'>>;

const processId: Shape = { pid: 'number', started: 'string?' };

const parentMessages: Readonly<Record<ParentMessage['type'], Shape>> = {
  parent: { ...processId, space: 'string?' },
  store: { store: 'number', module: 'string', access: 'string' },
  dropStore: { store: 'number' },
  lease: { lease: 'number', store: 'number', owner: 'number', ticket: 'string', from: 'number?' },
  renewed: { lease: 'number', safeUntil: 'number', wallSafeUntil: 'number', overBy: 'number' },
  ended: { lease: 'number', at: 'number' },
  forget: { lease: 'number' },
  group: { ...processId, owner: 'number', at: 'number', wallAt: 'number' },
  release: { pid: 'number' },
  end: {},
};

const reaperMessages: Readonly<Record<ReaperMessage['type'], Shape>> = { ready: {}, refused: { why: 'string' } };

/** The message as one line, with its line end. */
export function serializeMessage(message: ParentMessage | ReaperMessage): string {
  return `${JSON.stringify(message)}\n`;
}

/** @throws A `SyntaxError` if the line is not such a message. */
export function parseParentMessage(line: string): ParentMessage {
  const message: unknown = JSON.parse(line);
  if (isTyped(message) && fits<ParentMessage>(message, parentMessages)) return message;
  throw notMessage();
}

/**
 * Returns undefined for a message of an unknown type: after an upgrade in place, a restarted reaper
 * process may be of a newer version than its parent.
 *
 * @throws A `SyntaxError` if the line is no message.
 */
export function parseReaperMessage(line: string): ReaperMessage | undefined {
  const message: unknown = JSON.parse(line);
  if (!isTyped(message)) throw notMessage();
  if (fits<ReaperMessage>(message, reaperMessages)) return message;
  if (Object.hasOwn(reaperMessages, message.type)) throw notMessage();
  return undefined;
}

/** The error does not quote the line, which may contain a secret. */
function notMessage(): SyntaxError {
  return new SyntaxError('the line is not a message between a process and its reaper');
}

interface Typed {
  readonly type: string;
}

function isTyped(message: unknown): message is Typed {
  return typeof message === 'object' && message !== null && 'type' in message && typeof message.type === 'string';
}

function fits<T extends Typed>(message: Typed, shapes: Readonly<Record<T['type'], Shape>>): message is T {
  const shape = Object.entries<Shape>(shapes).find(([type]) => type === message.type)?.[1];
  if (shape === undefined) return false;
  const fields = new Map<string, unknown>(Object.entries(message));
  return Object.entries(shape).every(([name, kind]) => {
    const value = fields.get(name);
    return (kind.endsWith('?') && value === undefined) || typeof value === kind.replace('?', '');
  });
}

/**
 * Splits a stream of text into lines. Calls `take` with each complete line, and keeps the rest for
 * the next chunk.
 */
export function splitLines(take: (line: string) => void): (chunk: string) => void {
  let rest = '';
  return (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(line);
  };
}
