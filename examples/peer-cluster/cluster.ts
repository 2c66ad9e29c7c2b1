/** Five members, each in a process of its own, and their state. */

import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { candidatesOf, type Name } from './elections.ts';
import { isReport, type Order, type Report } from './words.ts';

const MEMBER = fileURLToPath(new URL('member.ts', import.meta.url));
const HOST = '127.0.0.1';

type State = 'up' | 'killed' | 'paused' | 'cut off';

interface MemberProcess {
  readonly id: string;
  state: State;
  child: ChildProcess | undefined;
  /** The term or the round in which it leads. */
  leads: number | bigint | undefined;
  /** The leader that it sees. */
  sees: { readonly leader: string; readonly number: number | bigint } | undefined;
}

export class Cluster {
  readonly #election: Name;
  readonly #members: readonly MemberProcess[];
  readonly #addresses: Readonly<Record<string, string>>;
  readonly #folder: string;
  /** Created for each cluster. The members prove to each other that they know it. */
  readonly #secret = randomBytes(32).toString('hex');
  readonly #changed: (what: string) => void;

  private constructor(election: Name, addresses: Readonly<Record<string, string>>, folder: string, changed: (what: string) => void) {
    this.#election = election;
    this.#addresses = addresses;
    this.#folder = folder;
    this.#changed = changed;
    this.#members = Object.keys(addresses).map((id) => ({ id, state: 'killed', child: undefined, leads: undefined, sees: undefined }));
  }

  /** The votes are kept in the folder. `changed` is called with every event. */
  static async start(election: Name, ids: readonly string[], folder: string, changed: (what: string) => void): Promise<Cluster> {
    const addresses = await Promise.all(ids.map(async (id) => [id, `${HOST}:${await freePort()}`] as const));
    const cluster = new Cluster(election, Object.fromEntries(addresses), folder, changed);
    for (const member of cluster.#members) cluster.#start(member);
    return cluster;
  }

  get ids(): readonly string[] {
    return this.#members.map(({ id }) => id);
  }

  /** The leader among the reachable members. */
  get leader(): string | undefined {
    return this.#reachable.find(({ leads }) => leads !== undefined)?.id;
  }

  /** Whether all reachable members see the same leader, or are too few to elect one. */
  get isSettled(): boolean {
    const reachable = this.#reachable;
    if (!this.#canElect(reachable)) return reachable.every(({ leads, sees }) => leads === undefined && sees === undefined);
    const [leader, ...more] = reachable.filter(({ leads }) => leads !== undefined);
    if (leader === undefined || more.length > 0) return false;
    return reachable.every(({ sees }) => sees?.number === leader.leads && sees?.leader === leader.id);
  }

  /** The state of all members, as one line. */
  get picture(): string {
    return this.#members.map(pictureOf).join('  ');
  }

  kill(id: string): void {
    const member = this.#member(id);
    member.child?.kill('SIGKILL');
    Object.assign(member, { state: 'killed', child: undefined, leads: undefined, sees: undefined });
    this.#changed(`${id} is killed`);
  }

  pause(id: string): void {
    this.#member(id).child?.kill('SIGSTOP');
    this.#set(id, 'paused');
  }

  cut(id: string): void {
    this.#order(this.#member(id), 'cut');
    this.#set(id, 'cut off');
  }

  /** Ends whatever was done to the member. */
  resume(id: string): void {
    const member = this.#member(id);
    if (member.state === 'killed') this.#start(member);
    if (member.state === 'paused') member.child?.kill('SIGCONT');
    if (member.state === 'cut off') this.#order(member, 'heal');
    if (member.state !== 'up') this.#set(id, 'up');
  }

  /** Each member hands over if it leads, and ends. */
  async close(): Promise<void> {
    for (const { id } of this.#members) if (this.#member(id).state !== 'killed') this.resume(id);
    for (const member of this.#members) {
      const { child } = member;
      if (child === undefined) continue;
      const gone = once(child, 'exit');
      this.#order(member, 'close');
      await gone;
    }
  }

  get #reachable(): readonly MemberProcess[] {
    return this.#members.filter(({ state }) => state === 'up');
  }

  /** A majority can elect. With best effort, any members can, if one of them is a candidate. */
  #canElect(reachable: readonly MemberProcess[]): boolean {
    if (this.#election === 'quorum') return reachable.length * 2 > this.#members.length;
    const candidates = candidatesOf(this.#election, this.ids);
    return reachable.some(({ id }) => candidates.includes(id));
  }

  #member(id: string): MemberProcess {
    const member = this.#members.find((one) => one.id === id);
    if (member === undefined) throw new RangeError(`there is no member "${id}"`);
    return member;
  }

  #set(id: string, state: State): void {
    this.#member(id).state = state;
    this.#changed(`${id} is ${state}`);
  }

  #order({ child }: MemberProcess, order: Order): void {
    if (child?.connected === true) child.send(order);
  }

  #start(member: MemberProcess): void {
    const addresses = Object.entries(this.#addresses)
      .map((pair) => pair.join('='))
      .join(',');
    const env = { ...process.env, CLUSTER_SECRET: this.#secret };
    const child = fork(MEMBER, [this.#election, member.id, addresses, this.#folder], { serialization: 'advanced', env });
    Object.assign(member, { child, state: 'up' });
    child.on('message', (message) => {
      if (member.child === child && isReport(message)) this.#onReport(member, message);
    });
    child.on('exit', (code) => {
      if (member.child !== child) return;
      Object.assign(member, { state: 'killed', child: undefined, leads: undefined, sees: undefined });
      if (code !== 0) this.#changed(`${member.id} has ended by itself, with code ${code}`);
    });
  }

  #onReport(member: MemberProcess, told: Report): void {
    switch (told.type) {
      case 'leads':
        member.leads = told.number;
        return this.#changed(`${member.id} leads, in ${this.#election === 'quorum' ? 'term' : 'round'} ${told.number}`);
      case 'ended':
        member.leads = undefined;
        return this.#changed(`${member.id} leads no longer: ${told.reason}`);
      case 'sees': {
        const { leader, number } = told;
        member.sees = leader === undefined || number === undefined ? undefined : { leader, number };
        return this.#changed('');
      }
      case 'failed':
        return this.#changed(`${member.id} has failed: ${told.why}`);
      default:
        return told satisfies never;
    }
  }
}

function pictureOf({ id, state, leads, sees }: MemberProcess): string {
  // A member that is cut off still reports to this process.
  if (state !== 'up') return leads === undefined || state !== 'cut off' ? `${id} ${state}` : `${id} ${state}, LEADS ${leads}`;
  if (leads !== undefined) return `${id} LEADS ${leads}`;
  return sees === undefined ? `${id} knows of none` : `${id} → ${sees.leader} ${sees.number}`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen({ host: HOST, port: 0 });
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new TypeError('the system gave no port');
  return address.port;
}
