/**
 * The messages of the algorithm. Each message names its sender's incarnation, so that no member
 * takes a message of a former incarnation for one of the current one.
 */

import type { Contact } from '../algorithm.ts';
import { isCount, isRecord } from '../reading.ts';
import type { Entry, List } from './list.ts';
import { MAX_MEMBERS } from './options.ts';

/** A message of the algorithm. Transports treat it as plain data. */
export type EmergentMessage =
  /** Add me to the list. */
  | { readonly type: 'join'; readonly incarnation: number; readonly address: string; readonly standing: boolean }
  /** I am joining too. `mayFound`: whether I might found a cluster. */
  | { readonly type: 'waiting'; readonly mayFound: boolean }
  /** I am a member, and this is my coordinator. Undefined: it cannot add members at the moment. */
  | { readonly type: 'seek'; readonly coordinator: Contact | undefined }
  /** The list. A process that finds itself in it for the first time has joined. */
  | { readonly type: 'update'; readonly list: List }
  | { readonly type: 'ack'; readonly incarnation: number; readonly version: number }
  | {
      readonly type: 'heartbeat';
      readonly incarnation: number;
      readonly version: number;
      /** The maker of that version. */
      readonly maker: string;
      /** The key of the sender's coordinator. */
      readonly coordinator: string;
      /** Whether the sender campaigns. */
      readonly standing: boolean;
    }
  /** My list has this version. Do you have a newer one? */
  | { readonly type: 'pull'; readonly incarnation: number; readonly version: number; readonly maker: string; readonly standing: boolean }
  /** No, my list is not newer. */
  | { readonly type: 'current'; readonly incarnation: number; readonly version: number }
  /** You are not in my list. `incarnation`: that of the receiver. */
  | { readonly type: 'removed'; readonly incarnation: number }
  /** I suspect the members with these keys. */
  | { readonly type: 'missed'; readonly incarnation: number; readonly keys: readonly string[] }
  /** All members before me seem to have failed. What do you know? */
  | { readonly type: 'ask'; readonly claim: number; readonly incarnation: number; readonly version: number }
  | {
      readonly type: 'answer';
      readonly claim: number;
      readonly incarnation: number;
      readonly version: number;
      readonly coordinator: string;
      /** Whether the sender suspects that coordinator too. */
      readonly misses: boolean;
      /** The sender's list, if it is newer than that of the member that asked. */
      readonly list: List | undefined;
    }
  /** I coordinate these members. Which coordinator do you follow? */
  | { readonly type: 'probe'; readonly search: number; readonly list: List }
  /**
   * I am a coordinator too, and your members must join mine. `search`: the number of the probe that
   * this message answers.
   */
  | { readonly type: 'invite'; readonly search: number; readonly list: List }
  /** We join the cluster of `into`. Leave ours, and ask `into` to add you. */
  | { readonly type: 'merge'; readonly incarnation: number; readonly into: Contact }
  | { readonly type: 'leave'; readonly incarnation: number };

export type MessageOf<T extends EmergentMessage['type']> = Extract<EmergentMessage, { type: T }>;

const MAX_TEXT = 300;

type Data = Readonly<Record<string, unknown>>;

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT;
}

function readContact(data: unknown): Contact | undefined {
  if (!isRecord(data)) return undefined;
  const { memberId, address } = data;
  return isText(memberId) && isText(address) ? { memberId, address } : undefined;
}

function readEntry(data: unknown): Entry | undefined {
  const contact = readContact(data);
  if (contact === undefined || !isRecord(data)) return undefined;
  const { incarnation, age, standing } = data;
  return isCount(incarnation) && isCount(age) && typeof standing === 'boolean' ? { ...contact, incarnation, age, standing } : undefined;
}

/**
 * Reads an array of `least` to `MAX_MEMBERS` items. Undefined: the data are not such an array, or
 * one item is not valid.
 */
function readAll<T>(data: unknown, least: number, read: (item: unknown) => T | undefined): readonly T[] | undefined {
  if (!Array.isArray(data) || data.length < least || data.length > MAX_MEMBERS) return undefined;
  const items = data.map((item: unknown) => read(item)).filter((item) => item !== undefined);
  return items.length === data.length ? items : undefined;
}

function readText(item: unknown): string | undefined {
  return isText(item) ? item : undefined;
}

function readList(data: unknown): List | undefined {
  if (!isRecord(data)) return undefined;
  const { version, round, maker } = data;
  const members = readAll(data['members'], 1, readEntry);
  const lost = readAll(data['lost'], 0, readContact);
  const minorityOf = readAll(data['minorityOf'], 0, readText);
  if (
    !isCount(version) ||
    !isCount(round) ||
    round > version ||
    !isText(maker) ||
    members === undefined ||
    lost === undefined ||
    minorityOf === undefined
  )
    return undefined;
  const isOnce = new Set(members.map(({ memberId }) => memberId)).size === members.length;
  return isOnce ? { version, maker, round, members, lost, minorityOf } : undefined;
}

/** Reads a message and drops unknown fields. Undefined: the data are not a message. */
export function readMessage(data: unknown): EmergentMessage | undefined {
  if (!isRecord(data)) return undefined;
  const { type } = data;
  switch (type) {
    case 'waiting': {
      const { mayFound } = data;
      return typeof mayFound === 'boolean' ? { type, mayFound } : undefined;
    }
    case 'seek': {
      const coordinator = readContact(data['coordinator']);
      return coordinator !== undefined || data['coordinator'] === undefined ? { type, coordinator } : undefined;
    }
    case 'update': {
      const list = readList(data['list']);
      return list === undefined ? undefined : { type, list };
    }
    case 'probe':
    case 'invite': {
      const [list, search] = [readList(data['list']), data['search']];
      return list === undefined || !isCount(search) ? undefined : { type, search, list };
    }
    default:
      return isCount(data['incarnation']) ? readOfStay(data, data['incarnation']) : undefined;
  }
}

function readOfStay(data: Data, incarnation: number): EmergentMessage | undefined {
  const { type, version, maker, address, standing, claim } = data;
  switch (type) {
    case 'join':
      return isText(address) && typeof standing === 'boolean' ? { type, incarnation, address, standing } : undefined;
    case 'ack':
    case 'current':
      return isCount(version) ? { type, incarnation, version } : undefined;
    case 'heartbeat': {
      const coordinator = readText(data['coordinator']);
      const fits = isCount(version) && isText(maker) && coordinator !== undefined && typeof standing === 'boolean';
      return fits ? { type, incarnation, version, maker, coordinator, standing } : undefined;
    }
    case 'pull':
      return isCount(version) && isText(maker) && typeof standing === 'boolean'
        ? { type, incarnation, version, maker, standing }
        : undefined;
    case 'removed':
    case 'leave':
      return { type, incarnation };
    case 'missed': {
      const keys = readAll(data['keys'], 0, readText);
      return keys === undefined ? undefined : { type, incarnation, keys };
    }
    case 'ask':
      return isCount(claim) && isCount(version) ? { type, claim, incarnation, version } : undefined;
    case 'answer':
      return readAnswer(data, incarnation);
    case 'merge': {
      const into = readContact(data['into']);
      return into === undefined ? undefined : { type, incarnation, into };
    }
    default:
      return undefined;
  }
}

function readAnswer(data: Data, incarnation: number): EmergentMessage | undefined {
  const { claim, version, misses } = data;
  const [list, coordinator] = [readList(data['list']), readText(data['coordinator'])];
  if (!isCount(claim) || !isCount(version) || coordinator === undefined || typeof misses !== 'boolean') return undefined;
  if (list === undefined && data['list'] !== undefined) return undefined;
  return { type: 'answer', claim, incarnation, version, coordinator, misses, list };
}
