/**
 * Reads plans, and checks them. A fault of an unknown kind, or with a misspelled trigger or
 * property, would inject nothing, and the run would pass without testing anything.
 */

import type { Side } from '../network/link.ts';
import type { HangMode } from '../store/disks.ts';
import { operations, type StoreShape } from '../store/shape.ts';
import { triggers, type FaultAction, type FaultKind } from './fault.ts';
import type { Order, Plan, Shape } from './plan.ts';

/** Returns the path of the first wrong part of a value, or undefined if the value is right. */
type Check = (value: unknown, path: string) => string | undefined;

/** One check for each property. */
type Checks<T> = { readonly [P in keyof T]-?: Check };

function valueThat(isRight: (value: unknown) => boolean): Check {
  return (value, path) => (isRight(value) ? undefined : path);
}

function numberThat(isRight: (value: number) => boolean): Check {
  return valueThat((value) => typeof value === 'number' && Number.isFinite(value) && isRight(value));
}

const anyNumber = numberThat(() => true);
const notNegative = numberThat((value) => value >= 0);
const positive = numberThat((value) => value > 0);
/** A part of a whole. */
const part = numberThat((value) => value >= 0 && value <= 1);
const wholeFrom = (least: number): Check => numberThat((value) => Number.isSafeInteger(value) && value >= least);
const anyText = valueThat((value) => typeof value === 'string');
const flag = valueThat((value) => typeof value === 'boolean');

function oneOf<T extends string | number>(...allowed: readonly T[]): Check {
  return valueThat((value) => allowed.some((one) => one === value));
}

function optional(check: Check): Check {
  return (value, path) => (value === undefined ? undefined : check(value, path));
}

function listOf(check: Check): Check {
  return (value, path) => (Array.isArray(value) ? firstOf(value.map((item, at) => check(item, `${path}[${at}]`))) : path);
}

/** An object with these properties, and no others. */
function objectOf(checks: Readonly<Record<string, Check>>): Check {
  const known = Object.entries(checks);
  return (value, path) => {
    if (!isObject(value)) return path;
    const unknown = Object.keys(value).find((name) => !Object.hasOwn(checks, name));
    if (unknown !== undefined) return `${path}.${unknown}`;
    return firstOf(known.map(([name, check]) => check(value[name], `${path}.${name}`)));
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function firstOf(problems: readonly (string | undefined)[]): string | undefined {
  return problems.find((problem) => problem !== undefined);
}

/** A plan for programs has no observers, but may still have faults of one. */
const target = valueThat((value) => typeof value === 'string' && /^(leader|subject|[mo][1-9]\d*)$/.test(value));
const lasting = { target, durationMs: notNegative };
const request = { delayMs: notNegative, lostReplies: wholeFrom(0) };
const someOperations = optional(listOf(oneOf(...operations)));
const hung = oneOf<HangMode>('writes', 'reads');

/** The properties of each kind of fault, except its kind and its time. */
const faults: { readonly [K in FaultKind]: Checks<Omit<Extract<FaultAction, { kind: K }>, 'kind'>> } = {
  crash: lasting,
  pause: lasting,
  block: lasting,
  suspend: lasting,
  leave: lasting,
  takeOver: { target },
  wallJump: { target, byMs: anyNumber },
  cut: { ...lasting, side: oneOf<Side>('up', 'down', 'both') },
  refuse: lasting,
  stall: lasting,
  stallWatches: lasting,
  silenceConnections: { target },
  reset: { target },
  slow: { ...lasting, byMs: notNegative },
  lossy: { ...lasting, ratio: part },
  loseReplies: { target, count: wholeFrom(1), operations: someOperations },
  holdWrites: { ...lasting, operations: someOperations },
  breakWatches: { part, denied: optional(flag) },
  failover: { durationMs: notNegative, lostMs: optional(notNegative) },
  hangDisk: { server: wholeFrom(0), hung, silentPart: part, durationMs: notNegative },
  hungCandidate: { durationMs: notNegative },
  deleteKey: { which: oneOf('leader', 'waiting', 'member', 'group'), nth: wholeFrom(0) },
  deleteEntry: {},
  requestStepDown: request,
  requestHandover: { ...request, nth: wholeFrom(0), withdrawnAfterMs: optional(notNegative) },
  endLease: { target, by: oneOf('operator', 'store') },
  wipe: {},
};

const byTime = objectOf({ atMs: notNegative });
const byEvent = objectOf({ on: oneOf(...triggers), nth: wholeFrom(1), afterMs: notNegative });
const when: Check = (value, path) => (isObject(value) && 'on' in value ? byEvent : byTime)(value, path);
const checksOfFaults = new Map(Object.entries(faults).map(([kind, checks]) => [kind, objectOf({ ...checks, kind: anyText, when })]));

const fault: Check = (value, path) => {
  const kind = isObject(value) ? value['kind'] : undefined;
  const check = typeof kind === 'string' ? checksOfFaults.get(kind) : undefined;
  return check === undefined ? `${path}.kind` : check(value, path);
};

const store: Checks<StoreShape> = {
  assignableLease: flag,
  revisionsSurviveDeletion: flag,
  swapSharesRevision: optional(flag),
  looks: optional(flag),
  expiryLateMs: notNegative,
  rate: positive,
  acknowledges: oneOf<StoreShape['acknowledges']>('renewal', 'previous', 'previousUndeclared'),
  latency: objectOf({ minMs: notNegative, maxMs: notNegative }),
  watchLagMs: notNegative,
  repeatRatio: part,
  keysPerLease: optional(wholeFrom(1)),
  servers: optional(wholeFrom(1)),
  endsEarly: optional(anyText),
};

const shape: Checks<Shape> = {
  members: wholeFrom(1),
  observers: wholeFrom(0),
  elections: optional(wholeFrom(1)),
  observing: optional(wholeFrom(1)),
  ttlMs: positive,
  drainMs: notNegative,
  clockErrorRatio: notNegative,
  driftRatio: notNegative,
  order: oneOf<Order>('arrival', 'priority', 'rendezvous', 'disagree'),
  store: objectOf(store),
  reaperLagMs: optional(notNegative),
  renewed: optional(flag),
  silentFailover: optional(flag),
  sickFailover: optional(hung),
  silentConnections: optional(flag),
  stormMs: notNegative,
  recoveryMs: notNegative,
  unrest: part,
};

const plan: Checks<Plan> = { version: oneOf(1), profile: anyText, seed: wholeFrom(0), shape: objectOf(shape), faults: listOf(fault) };
const check = objectOf(plan);

/**
 * Parses a plan from JSON text.
 *
 * @throws {TypeError} If the text is not a plan of this format, or has an unknown fault, trigger or
 *   property. The message names the first wrong part.
 */
export function readPlan(text: string): Plan {
  const value: unknown = JSON.parse(text);
  if (isPlan(value)) return value;
  throw new TypeError(`this is no plan of a simulation, or one of another version: ${check(value, 'plan')} is wrong`);
}

function isPlan(value: unknown): value is Plan {
  return check(value, 'plan') === undefined;
}
