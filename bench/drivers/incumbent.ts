/**
 * The SDK itself. `resign`: leadership.resign(); `handover`: leadership.handover(), to the next in
 * succession.
 */

import { subscribe } from 'node:diagnostics_channel';
import { type ElectionOptions, ElectionObserver, isIncumbentError, Member, openStore, type Leadership } from 'incumbent';
import { emit } from './emit.ts';
import { speak, start, type Contestant, type HeldLeadership } from './speak.ts';

const { url, ttlMs, mode } = start();
const store = await openStore(url);
const members = new Map<string, Member>();

function memberOf(as: string): Member {
  const known = members.get(as);
  if (known !== undefined) return known;
  const member = new Member(store, { memberId: `${process.pid}-${as}`, ttlMs });
  members.set(as, member);
  return member;
}

async function endLeadership(leadership: Leadership): Promise<void> {
  if (mode !== 'handover') return leadership.resign();
  try {
    await leadership.handover();
  } catch (error) {
    if (!isIncumbentError(error, 'NO_SUCH_CANDIDATE')) throw error;
    await leadership.resign();
  }
}

const elections = new Set<string>();

function options(member: Member, name: string): readonly [] | readonly [ElectionOptions] {
  const key = `${member.memberId}/${name}`;
  if (elections.has(key)) return [];
  elections.add(key);
  return [store.capabilities.linearizable ? {} : { acceptWeakStore: store.name }];
}

const contestant: Contestant = {
  async campaign(name, as, lost): Promise<HeldLeadership> {
    const member = memberOf(as);
    const leadership = await member.election(name, ...options(member, name)).campaign();
    void leadership.ended.then((end) => (end.lost ? lost(end.reason) : undefined));
    return { isLeader: () => leadership.isValid(), resign: () => endLeadership(leadership), stopped: leadership.ended };
  },
  async observe(name, told) {
    const observer = new ElectionObserver(store, name);
    observer.subscribe((view) => (view.state === 'leader' ? told(view.memberId) : undefined));
    for await (const view of observer.views()) if (view.state !== 'unknown') break;
  },
};

subscribe('incumbent:joined', () => emit('joined'));
await speak(contestant);
