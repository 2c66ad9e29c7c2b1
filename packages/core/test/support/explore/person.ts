/**
 * One member in the explorer: the real transitions of a campaign and of a release, and the call
 * that each state makes. It does what the drivers do: see `campaign/runner.ts` and
 * `leadership/release.ts`.
 */

import { initialState } from '../../../src/campaign/campaign-machine.ts';
import type { CandidateEvent, CandidateRules, CandidateState, Exit } from '../../../src/campaign/state.ts';
import type { Change, Entry, Key } from '../../../src/index.ts';
import type { ChosenSuccessor, LeadershipEndReason, ReleaseState, ReleaseEvent } from '../../../src/leadership/release-machine.ts';
import { readTerm, writeCandidate } from '../../../src/protocol/record.ts';
import { type Successor, successorAmong, writeName } from '../../../src/protocol/succession.ts';
import { isRecordOf, remainingLeader, type Remains } from '../../../src/protocol/transactions.ts';
import { type Machine, olderThan } from './machine.ts';
import type { Shelf } from './shelf.ts';

/** A call to the store. Reads follow one another as in the drivers. */
/** The term, as one member has seen it. */
export interface Seen {
  readonly termEntry: Entry | undefined;
}

export type Call =
  | { readonly type: 'enqueue' }
  | { readonly type: 'list' }
  | { readonly type: 'lookTerm'; readonly queue: readonly Entry[] | undefined }
  | { readonly type: 'readTerm' }
  | { readonly type: 'readLeader'; readonly termEntry: Entry | undefined }
  | { readonly type: 'readRemains' }
  | { readonly type: 'readRemainingLeader'; readonly termEntry: Entry | undefined; readonly entry: Entry | undefined }
  | { readonly type: 'findNext' }
  | { readonly type: 'readSuccessor'; readonly successor: Successor }
  | { readonly type: 'readSuccessorTerm'; readonly successor: Successor; readonly entry: Entry | undefined }
  | { readonly type: 'swap'; readonly changes: readonly Change[] };

export interface Person {
  readonly id: string;
  readonly attempt: number;
  /** Undefined if it does not campaign any more, and holds nothing. */
  readonly state: CandidateState | undefined;
  readonly releaseState: ReleaseState | undefined;
  /** The entry of the leadership that it releases. */
  readonly entryKey: Key;
  /** The successor that it has found in advance, as a leader. */
  readonly known: Successor | undefined;
  /** The call in flight. */
  readonly call: Call | undefined;
  readonly halted: boolean;
  /** True while its session lives. */
  readonly alive: boolean;
  /** The names of its entries that the store may still create. */
  readonly enqueueUnknown: readonly string[];
}

export interface Setting {
  readonly machine: Machine;
  readonly rules: CandidateRules;
  readonly rankOf: (id: string) => string;
  readonly inOne: boolean;
  /** Whether an enqueue also reads the queue and the term. */
  readonly looks: boolean;
  /** The members with an older version, which knows no mark that says that it elected. */
  readonly older: readonly string[];
}

/** The functions of this member's version. */
function machineOf({ id }: Person, { machine, older }: Setting): Machine {
  return older.includes(id) ? olderThan(machine) : machine;
}

export function newcomer(id: string): Person {
  const call: Call = { type: 'enqueue' };
  return {
    id,
    attempt: 1,
    state: initialState,
    releaseState: undefined,
    entryKey: '',
    known: undefined,
    call,
    halted: false,
    alive: true,
    enqueueUnknown: [],
  };
}

export const leaseOf = (id: string): string => `lease-${id}`;

export function nameOf(person: Person, { rules, rankOf }: Setting): string {
  const { id, attempt } = person;
  return writeName({ memberId: id, incarnation: id, attempt, succession: rules.succession.id, rank: rankOf(id) });
}

export function leads({ releaseState, alive }: Person): boolean {
  return alive && releaseState?.phase === 'leading';
}

/** Applies its call, and passes the result to its machine. `seen`: the term of a stale read. */
export function answer(person: Person, call: Call, shelf: Shelf, setting: Setting, seen?: Seen): readonly [Shelf, Person] {
  const { keys } = setting.rules;
  switch (call.type) {
    case 'enqueue': {
      const key = `${keys.candidates}/${nameOf(person, setting)}`;
      const after = enqueue(person, shelf, setting);
      const joined = receive(person, { type: 'enqueued', entry: after.read(key)! }, setting);
      if (!setting.looks || after === shelf || joined.state?.phase !== 'looking') return [after, joined];
      const queue = shelf.list(keys.candidates).map(withoutValue);
      return [after, receive(joined, { type: 'looked', queue, termEntry: shelf.read(keys.term) }, setting)];
    }
    case 'list':
      return [shelf, { ...person, call: { type: 'lookTerm', queue: shelf.list(keys.candidates).map(withoutValue) } }];
    case 'lookTerm':
      return [shelf, receive(person, looked(person, call.queue, seen ?? { termEntry: shelf.read(keys.term) }, shelf, setting), setting)];
    case 'readTerm':
      return [shelf, { ...person, call: { type: 'readLeader', termEntry: shelf.read(keys.term) } }];
    case 'readLeader':
      return [shelf, receive(person, { type: 'read', termEntry: call.termEntry, leaderEntry: shelf.read(keys.leader) }, setting)];
    case 'readRemains':
      return [
        shelf,
        { ...person, call: { type: 'readRemainingLeader', termEntry: shelf.read(keys.term), entry: shelf.read(person.entryKey) } },
      ];
    case 'readRemainingLeader':
      return [
        shelf,
        remainsRead(person, { termEntry: call.termEntry, entry: call.entry, leader: remainingLeader(shelf.read(keys.leader)) }, setting),
      ];
    case 'findNext':
      return [shelf, receiveRelease(person, { type: 'looked', successor: nextInLine(person, shelf, setting) }, setting)];
    case 'readSuccessor':
      return [
        shelf,
        { ...person, call: { type: 'readSuccessorTerm', successor: call.successor, entry: shelf.read(call.successor.entry.key) } },
      ];
    case 'readSuccessorTerm':
      return [shelf, checked(person, call.successor, call.entry, shelf.read(keys.term), setting)];
    case 'swap': {
      const [after, result] = shelf.swap(call.changes);
      if (person.releaseState !== undefined)
        return [after, receiveRelease(person, { type: result.swapped ? 'swapped' : 'notSwapped' }, setting)];
      const event: CandidateEvent = result.swapped
        ? { type: 'swapped', revisions: result.revisions, termValue: after.read(keys.term)?.value }
        : { type: 'notSwapped', failed: result.failed };
      return [after, receive(person, event, setting)];
    }
    default:
      return call satisfies never;
  }
}

/** Without a list of the queue, its own entry is the one that its watch last showed. */
function looked(person: Person, queue: readonly Entry[] | undefined, { termEntry }: Seen, shelf: Shelf, setting: Setting): CandidateEvent {
  const ownEntry = shelf.read(`${setting.rules.keys.candidates}/${nameOf(person, setting)}`);
  return queue === undefined ? { type: 'looked', queue, termEntry, ownEntry } : { type: 'looked', queue, termEntry };
}

export function enqueue(person: Person, shelf: Shelf, setting: Setting): Shelf {
  const key = `${setting.rules.keys.candidates}/${nameOf(person, setting)}`;
  if (!person.alive || shelf.rows.has(key)) return shelf;
  return shelf.put(key, fromUtf8.decode(writeCandidate(undefined, 0n, 0n)), leaseOf(person.id));
}

/** Its call has failed with an unknown outcome. */
export function lost(person: Person, setting: Setting): Person {
  const after =
    person.call?.type === 'enqueue' ? { ...person, enqueueUnknown: [...person.enqueueUnknown, nameOf(person, setting)] } : person;
  return failed(after, true, setting);
}

/** Its call has failed. `unknown`: nobody knows whether it had an effect. */
export function failed(person: Person, unknown: boolean, setting: Setting): Person {
  const event = { type: 'failed', unknown } as const;
  return person.releaseState === undefined ? receive(person, event, setting) : receiveRelease(person, event, setting);
}

/** Passes an event to its campaign, which goes on until it makes a call, waits, or is over. */
export function receive(person: Person, event: CandidateEvent, setting: Setting): Person {
  if (person.state === undefined) return person;
  const [machine, { rules }] = [machineOf(person, setting), setting];
  let state = machine.campaign(person.state, event, rules);
  if (state.phase === 'pausing') state = machine.campaign(state, { type: 'paused' }, rules);
  if (person.halted) state = machine.campaign(state, { type: 'stop' }, rules);
  const after = { ...person, state, call: undefined };
  if (state.phase === 'elected') {
    const leading: Person = { ...after, releaseState: { phase: 'leading' }, entryKey: state.won.entry.key };
    return person.halted ? ends(leading, 'resigned', undefined, setting) : leading;
  }
  return state.phase === 'out' ? over(after, state.exit, setting) : { ...after, call: candidateCall(after, state, setting) };
}

/** Releases an orphaned handover to it. Joins again, once, if its entry was deleted. */
function over(person: Person, exit: Exit, setting: Setting): Person {
  if (exit.why === 'orphaned')
    return receiveRelease(
      { ...person, releaseState: { phase: 'draining', chosen: undefined, reason: 'resigned' }, entryKey: exit.entry.key },
      { type: 'drained' },
      setting,
    );
  return exit.why === 'removed' ? again(person) : { ...person, state: undefined };
}

function again(person: Person): Person {
  if (person.halted || person.attempt > 1) return { ...person, state: undefined, releaseState: undefined };
  return { ...newcomer(person.id), attempt: person.attempt + 1, enqueueUnknown: person.enqueueUnknown };
}

function candidateCall(person: Person, state: CandidateState, setting: Setting): Call | undefined {
  const [machine, { rules }] = [machineOf(person, setting), setting];
  const self = { memberId: person.id, incarnation: person.id };
  switch (state.phase) {
    case 'joining':
      return { type: 'enqueue' };
    case 'looking':
      return state.goneAhead === undefined ? { type: 'list' } : { type: 'lookTerm', queue: undefined };
    case 'claiming':
      return { type: 'swap', changes: machine.claimChanges(rules.keys, self, state.entry, state.claim, undefined, leaseOf(person.id)) };
    case 'confirming':
      return state.termEntry === undefined ? { type: 'readTerm' } : { type: 'readLeader', termEntry: state.termEntry };
    case 'withdrawing':
      return state.entry === undefined
        ? { type: 'enqueue' }
        : { type: 'swap', changes: [{ key: state.entry.key, expect: state.entry.revision, delete: true }] };
    case 'waiting':
    case 'pausing':
    case 'elected':
    case 'out':
      return undefined;
    default:
      return state satisfies never;
  }
}

/** The first candidate behind it. */
export function nextInLine({ id }: Person, shelf: Shelf, { rules: { keys, succession } }: Setting): Successor | undefined {
  return successorAmong(shelf.list(keys.candidates), id, succession);
}

/** Ends a leadership, whose drain takes no time. */
export function ends(person: Person, reason: LeadershipEndReason, chosen: ChosenSuccessor | undefined, setting: Setting): Person {
  const releaseState = setting.machine.release(person.releaseState!, { type: 'end', reason, chosen });
  const drained = receiveRelease({ ...person, known: undefined, releaseState }, { type: 'drained' }, setting);
  const remains = reason === 'recordDeleted' || drained.call?.type !== 'readRemains' ? undefined : knownRemains(drained, setting);
  return remains === undefined ? drained : remainsRead(drained, remains, setting);
}

/** The keys that it knows without a read, if its leadership was not lost. */
function knownRemains({ state }: Person, { rules: { keys } }: Setting): Remains | undefined {
  if (state?.phase !== 'elected' || state.won.termValue === undefined) return undefined;
  const { entry, termValue, leaderRevision, termRevision } = state.won;
  if (leaderRevision === undefined) return undefined;
  return {
    leader: { revision: leaderRevision, entry: entry.key },
    termEntry: { key: keys.term, name: 'term', value: termValue, revision: termRevision, order: 0n },
    entry,
  };
}

export function receiveRelease(person: Person, event: ReleaseEvent, setting: Setting): Person {
  const releaseState = setting.machine.release(person.releaseState!, event);
  const after: Person = { ...person, releaseState, call: undefined };
  switch (releaseState.phase) {
    case 'handingOver':
      return { ...after, call: { type: 'readRemains' } };
    case 'checking':
      return { ...after, call: { type: 'readSuccessor', successor: releaseState.successor } };
    case 'looking':
      return { ...after, call: { type: 'findNext' } };
    case 'releasing': {
      if (releaseState.remains === undefined) return { ...after, call: { type: 'readRemains' } };
      const changes = setting.machine.releaseChanges(setting.rules.keys, person.entryKey, releaseState.remains, {
        reason: releaseState.reason,
      });
      return changes.length === 0 ? receiveRelease(after, { type: 'swapped' }, setting) : { ...after, call: { type: 'swap', changes } };
    }
    case 'released':
      return person.state?.phase === 'out'
        ? again({ ...after, releaseState: undefined })
        : { ...after, state: undefined, releaseState: undefined };
    case 'leading':
    case 'draining':
      return after;
    default:
      return releaseState satisfies never;
  }
}

function remainsRead(person: Person, remains: Remains, setting: Setting): Person {
  if (person.releaseState?.phase !== 'handingOver') return receiveRelease(person, { type: 'remains', remains }, setting);
  const own = { ...setting, machine: machineOf(person, setting) };
  const changes = handover(person.entryKey, remains, person.releaseState, own);
  return changes === undefined ? receiveRelease(person, { type: 'notSwapped' }, setting) : { ...person, call: { type: 'swap', changes } };
}

function handover(
  entryKey: Key,
  { leader, termEntry, entry }: Remains,
  { successor, reason }: ChosenSuccessor & { readonly reason: string },
  { machine, rules: { keys }, inOne }: Setting,
): readonly Change[] | undefined {
  if (leader === undefined || termEntry === undefined || entry === undefined) return undefined;
  if (leader.entry !== entryKey || readTerm(termEntry).entry !== entryKey) return undefined;
  const parts = { keys, leader, termEntry, entry, successor, reason };
  return inOne ? machine.handoverInOne(parts, leaseOf(successor.memberId)) : machine.handoverInTwo(parts);
}

function checked(
  person: Person,
  successor: Successor,
  successorEntry: Entry | undefined,
  termEntry: Entry | undefined,
  setting: Setting,
): Person {
  const lastTerm = termEntry && readTerm(termEntry);
  const successorHasTerm = lastTerm?.entry === successor.entry.key || lastTerm?.ended?.successor === successor.entry.key;
  const stillMine = lastTerm?.entry === person.entryKey && lastTerm.ended === undefined;
  const ready = stillMine && successorEntry !== undefined ? { ...successor, entry: successorEntry } : undefined;
  return receiveRelease(person, { type: 'checked', successorHasTerm, successor: ready }, setting);
}

/** The event of a watch that a waiting or leading member would get now. */
export function news(person: Person, shelf: Shelf, { rules: { keys } }: Setting): CandidateEvent | 'lost' | undefined {
  if (person.releaseState?.phase === 'leading') return holds(person, shelf, keys.leader) ? undefined : 'lost';
  if (person.state?.phase !== 'waiting') return undefined;
  const { entry, wait } = person.state;
  const own = shelf.read(entry.key);
  if (own === undefined) return { type: 'removed' };
  if (own.revision !== entry.revision) return { type: 'entryChanged', entry: own };
  if (shelf.read(wait.key) === undefined) return { type: 'woke' };
  // A watch of the leader's record shows who leads by the key of its entry.
  const watchesLeader = wait.for === 'leader' || (wait.for === 'ahead' && wait.position > 0);
  return watchesLeader && isRecordOf(shelf.read(keys.leader), entry.key) ? { type: 'woke' } : undefined;
}

function holds(person: Person, shelf: Shelf, leaderKey: string): boolean {
  return isRecordOf(shelf.read(leaderKey), person.entryKey) && shelf.read(person.entryKey) !== undefined;
}

function withoutValue(entry: Entry): Entry {
  return { ...entry, value: noBytes };
}

const noBytes = new Uint8Array();

/** A key of everything that decides what the member does next. */
export function keyOf(person: Person): string {
  const known = said.get(person);
  if (known !== undefined) return known;
  const { call } = person;
  const key = JSON.stringify(
    { ...person, call: call?.type === 'swap' ? call.changes.map(({ key: of, expect }) => [of, expect]) : call },
    briefly,
  );
  said.set(person, key);
  return key;
}

const said = new WeakMap<Person, string>();

function briefly(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}`;
  return value instanceof Uint8Array ? handoverTermIn(value) : value;
}

/** Of a value only the term of a handover matters. Revisions distinguish other values. */
function handoverTermIn(value: Uint8Array): string {
  const text = fromUtf8.decode(value);
  return text.includes('handoverTerm') ? text : '';
}

const fromUtf8 = new TextDecoder();
