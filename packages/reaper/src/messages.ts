/**
 * What a process tells its reaper: a line of JSON each, by a pipe that no other process has. Times are those of the machine's monotonic clock
 * (`CLOCK_MONOTONIC`, which all of its processes read alike), in ms; `wall…` those of its wall clock.
 */

export interface LifeOf {
  readonly pid: number;
  /** As the kernel tells it; absent on systems that do not. */
  readonly started?: string;
}

export type Told =
  /** First of all: who is to be outlived, and the namespaces in which that means something. */
  | (LifeOf & { readonly type: 'parent'; readonly space?: string })
  /** How leases of one open store are ended. Has secrets in it. */
  | { readonly type: 'store'; readonly store: number; readonly module: string; readonly access: string }
  /** A lease to be revoked after the death. Those of one owner wait for that owner's groups. Has secrets in it. */
  | { readonly type: 'lease'; readonly lease: number; readonly store: number; readonly owner: number; readonly ticket: string }
  /** Until `safeUntil` it is certainly kept, and what lives by it may go on; by `overBy` it has ended by itself. */
  | {
      readonly type: 'renewed';
      readonly lease: number;
      readonly safeUntil: number;
      readonly wallSafeUntil: number;
      readonly overBy: number;
    }
  /** What is bound later does not live by it. */
  | { readonly type: 'ended'; readonly lease: number; readonly at: number }
  /** It is not to be revoked. What still lives by it must not. */
  | { readonly type: 'forget'; readonly lease: number }
  /** A process group that must not outlive the parent, nor any lease of its owner that stood at that moment. */
  | (LifeOf & { readonly type: 'group'; readonly owner: number; readonly at: number; readonly wallAt: number })
  | { readonly type: 'release'; readonly pid: number }
  /** Nothing is left to be done, whatever becomes of the parent. */
  | { readonly type: 'end' };

export type Telling =
  | { readonly type: 'ready' }
  /** It ends, as it could never help. */
  | { readonly type: 'refused'; readonly why: string };

type Shape = Readonly<Record<string, 'number' | 'string' | 'string?'>>;

const life: Shape = { pid: 'number', started: 'string?' };

const told: Readonly<Record<Told['type'], Shape>> = {
  parent: { ...life, space: 'string?' },
  store: { store: 'number', module: 'string', access: 'string' },
  lease: { lease: 'number', store: 'number', owner: 'number', ticket: 'string' },
  renewed: { lease: 'number', safeUntil: 'number', wallSafeUntil: 'number', overBy: 'number' },
  ended: { lease: 'number', at: 'number' },
  forget: { lease: 'number' },
  group: { ...life, owner: 'number', at: 'number', wallAt: 'number' },
  release: { pid: 'number' },
  end: {},
};

const telling: Readonly<Record<Telling['type'], Shape>> = { ready: {}, refused: { why: 'string' } };

export function writeLine(message: Told | Telling): string {
  return `${JSON.stringify(message)}\n`;
}

/** Throws a `SyntaxError` for what is none. */
export function readTold(line: string): Told {
  return read<Told>(line, told);
}

/** Throws a `SyntaxError` for what is none. */
export function readTelling(line: string): Telling {
  return read<Telling>(line, telling);
}

function read<T extends { readonly type: string }>(line: string, shapes: Readonly<Record<T['type'], Shape>>): T {
  const message: unknown = JSON.parse(line);
  if (fits<T>(message, shapes)) return message;
  // Never the line: there may be a secret in it.
  throw new SyntaxError('a line that no version of this package writes');
}

function fits<T extends { readonly type: string }>(message: unknown, shapes: Readonly<Record<string, Shape>>): message is T {
  if (typeof message !== 'object' || message === null || !('type' in message)) return false;
  const shape = Object.entries(shapes).find(([type]) => type === message.type)?.[1];
  if (shape === undefined) return false;
  const fields = new Map<string, unknown>(Object.entries(message));
  return Object.entries(shape).every(([name, kind]) => {
    const value = fields.get(name);
    return kind === 'string?' ? value === undefined || typeof value === 'string' : typeof value === kind;
  });
}
