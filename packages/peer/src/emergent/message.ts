/**
 * What members say to one another. Each message names the stay of its sender that it is of, so that
 * nothing of an earlier one is taken for it.
 */

import type { Contact } from '../algorithm.ts';
import type { Entry, List } from './list.ts';
import { MAX_MEMBERS } from './options.ts';

export type EmergentMessage =
  /** Let me in. */
  | { readonly type: 'join'; readonly incarnation: number; readonly address: string; readonly standing: boolean }
  /** I am asking to be let in myself; and whether I would found a cluster. */
  | { readonly type: 'waiting'; readonly mayFound: boolean }
  /** I am a member, and this is who lets in; undefined: nobody can just now. */
  | { readonly type: 'seek'; readonly coordinator: Contact | undefined }
  /** The list. To whoever finds itself in it for the first time: you are let in. */
  | { readonly type: 'update'; readonly list: List }
  | { readonly type: 'ack'; readonly incarnation: number; readonly version: number }
  | {
      readonly type: 'heartbeat';
      readonly incarnation: number;
      readonly version: number;
      /** Of that version. */
      readonly maker: string;
      /** The key of whoever coordinates, to its sender. */
      readonly coordinator: string;
      /** Whether its sender would lead. */
      readonly standing: boolean;
    }
  /** My list is of this version: have you a newer one? */
  | { readonly type: 'pull'; readonly incarnation: number; readonly version: number; readonly maker: string; readonly standing: boolean }
  /** No: mine is no newer. */
  | { readonly type: 'current'; readonly incarnation: number; readonly version: number }
  /** You are not in my list. `incarnation`: yours. */
  | { readonly type: 'removed'; readonly incarnation: number }
  /** I miss these, by their keys. */
  | { readonly type: 'missed'; readonly incarnation: number; readonly keys: readonly string[] }
  /** Whoever comes before me seems to be gone: what do you know? */
  | { readonly type: 'ask'; readonly claim: number; readonly incarnation: number; readonly version: number }
  | {
      readonly type: 'answer';
      readonly claim: number;
      readonly incarnation: number;
      readonly version: number;
      readonly coordinator: string;
      /** Whether its sender misses that one as well. */
      readonly misses: boolean;
      /** Where it is newer than that of whoever asked. */
      readonly list: List | undefined;
    }
  /** I coordinate these: who are you with? */
  | { readonly type: 'probe'; readonly search: number; readonly list: List }
  /** So do I, and yours are to join mine. `search`: that of the probe which it answers. */
  | { readonly type: 'invite'; readonly search: number; readonly list: List }
  /** We join that one's members: leave, and ask it to let you in. */
  | { readonly type: 'merge'; readonly incarnation: number; readonly into: Contact }
  | { readonly type: 'leave'; readonly incarnation: number };

const MAX_TEXT = 300;

type Data = Readonly<Record<string, unknown>>;

function isRecord(data: unknown): data is Data {
  return typeof data === 'object' && data !== null && !Array.isArray(data);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

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

/** Undefined: it is no list of at most so many, or one of them is none of these. */
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

/** The message that these data are, and nothing else of them; undefined: none. */
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
