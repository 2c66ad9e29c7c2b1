/** All possible next steps of a state, and the invariants that must hold in each state. */

import type { Entry } from '../../../src/index.ts';
import { changeCandidate, readCandidate, readTerm, type TermRecord, writeRequest } from '../../../src/protocol/record.ts';
import { inSuccession, readName, type Successor } from '../../../src/protocol/succession.ts';
import { isRecordOf, remainingLeader, type Won } from '../../../src/protocol/transactions.ts';
import { type Budget, keyOf, type Late, type Model, replace, spend } from './model.ts';
import * as people from './person.ts';
import type { Call, Person, Seen, Setting } from './person.ts';

type News = NonNullable<ReturnType<typeof people.news>>;

export type Move = readonly [what: string, then: Model];

export class Rules {
  readonly #setting: Setting;
  /** True if no claim times out. */
  readonly #neverTimesOut: boolean;
  /** How many keys an operator may delete in this case. */
  readonly #deletions: number;
  /** States from which everything is known to come to rest. */
  readonly #restful = new Set<string>();

  constructor(setting: Setting, { timeouts, deleted }: Budget) {
    this.#setting = setting;
    this.#neverTimesOut = timeouts === 0;
    this.#deletions = deleted;
  }

  /** All possible next steps. */
  moves(model: Model): readonly Move[] {
    const all = [
      ...model.people.flatMap((person) => this.#of(model, person)),
      ...this.#lateOnes(model),
      ...this.#operator(model),
      ...this.#requests(model),
    ];
    return all.map(([what, then]) => [what, this.#rememberMarks(this.#rememberTerm(then))]);
  }

  #rememberTerm(model: Model): Model {
    const termEntry = model.shelf.read(this.#setting.rules.keys.term);
    return termEntry?.revision === model.terms.at(-1)?.termEntry?.revision ? model : { ...model, terms: [...model.terms, { termEntry }] };
  }

  #rememberMarks(model: Model): Model {
    const isNew = ({ key, revision }: Entry): boolean => !model.marks.some((mark) => mark.key === key && mark.revision === revision);
    const marked = model.shelf.list(this.#setting.rules.keys.candidates).filter((entry) => isMarked(entry) && isNew(entry));
    return marked.length === 0 ? model : { ...model, marks: [...model.marks, ...marked] };
  }

  /** The invariant that does not hold, if there is one. */
  broken(before: Model, after: Model): string | undefined {
    if (after.people.filter(people.leads).length > 1) return 'two lead at once';
    const term = this.#term(after);
    if (term < this.#term(before)) return 'the term fell';
    if (this.#isOvertaken(before, after)) return 'somebody else was elected before the successor';
    if (term > 0n && term === this.#term(before) && this.#read(after)?.entry !== this.#read(before)?.entry)
      return `term ${term} was issued again`;
    for (const [at, person] of after.people.entries()) {
      if (this.#isRobbed(person, before, after)) return `the record of ${person.id}, who leads, was taken away`;
      if (person.state?.phase !== 'elected' || before.people[at]?.state?.phase === 'elected') continue;
      if (person.state.won.term <= before.elected)
        return `${person.id} was elected with term ${person.state.won.term}, which was issued before`;
      if (!person.halted && !this.#entitled(after, person)) return `${person.id} leads without a record`;
      const unknown = this.#misknown(after, person.state.won);
      if (unknown !== undefined) return `${person.id} leads with a wrong revision of the ${unknown}`;
    }
    return undefined;
  }

  /** While the successor of a handover exists, no other member claims before its timeout. */
  #isOvertaken(before: Model, after: Model): boolean {
    const successor = this.#read(before)?.ended?.successor;
    if (!this.#neverTimesOut || successor === undefined || before.shelf.read(successor) === undefined) return false;
    return this.#term(after) > this.#term(before) && this.#read(after)?.entry !== successor;
  }

  /** Only an operator deletes the record of a member that leads. */
  #isRobbed(person: Person, before: Model, after: Model): boolean {
    if (!people.leads(person) || after.budget.deleted < before.budget.deleted) return false;
    return this.#isHeld(before, person) && !this.#isHeld(after, person);
  }

  #isHeld({ shelf }: Model, { entryKey }: Person): boolean {
    return isRecordOf(shelf.read(this.#setting.rules.keys.leader), entryKey);
  }

  /** True if the record is its own, or an operator may have deleted it. */
  #entitled(model: Model, person: Person): boolean {
    return model.budget.deleted < this.#deletions || this.#isHeld(model, person);
  }

  /** The key whose revision a new leader knows wrongly, while the store holds its term. */
  #misknown({ shelf }: Model, { entry, term, leaderRevision, termRevision }: Won): string | undefined {
    const { keys } = this.#setting.rules;
    const [leader, termEntry] = [shelf.read(keys.leader), shelf.read(keys.term)];
    if (termEntry !== undefined && termIn(termEntry).term === term && termEntry.revision !== termRevision) return 'term';
    if (leader === undefined || !isRecordOf(leader, entry.key) || leaderRevision === undefined) return undefined;
    return leader.revision === leaderRevision ? undefined : 'record';
  }

  /**
   * Lets everything come to rest without further faults: calls are answered, watches work, and
   * leaders resign after a while. Undefined if that succeeds and leaves nothing behind. `itsKey` is
   * the key of the model.
   */
  stuck(model: Model, itsKey: string): string | undefined {
    const passed: string[] = [];
    let now = model;
    for (let turns = 0; turns < 400; turns += 1) {
      const key = now === model ? itsKey : keyOf(now);
      if (this.#restful.has(key)) break;
      passed.push(key);
      const then = this.#calmly(now);
      const left = then === undefined ? this.#leftover(now) : undefined;
      if (left !== undefined) return left;
      if (then === undefined) break;
      if (turns === 399) return 'it goes on for ever';
      now = then;
    }
    for (const key of passed) this.#restful.add(key);
    return undefined;
  }

  /** Calls first, then events, then the ends of leaderships, then timeouts and cleanups. */
  #calmly(model: Model): Model | undefined {
    for (const person of model.people) if (person.call !== undefined) return this.#step(model, person, person.call);
    for (const person of model.people) {
      const news = people.news(person, model.shelf, this.#setting);
      if (news !== undefined) return this.#deliver(model, person, news);
    }
    for (const person of model.people) if (people.leads(person)) return this.#end(model, person);
    return this.#cleanUp(model) ?? this.#anyClaimTimeout(model);
  }

  #anyClaimTimeout(model: Model): Model | undefined {
    const waiting = model.people.find((person) => mayTimeOut(person) && !this.#seesLeader(model, person));
    return waiting === undefined ? undefined : this.#deliver(model, waiting, { type: 'claimTimedOut' });
  }

  #seesLeader({ shelf }: Model, { state }: Person): boolean {
    return state?.phase === 'waiting' && state.wait.for === 'ahead' && shelf.read(this.#setting.rules.keys.leader) !== undefined;
  }

  /** The orphan cleaner removes unused entries, and the leadership of a handover to one. */
  #cleanUp(model: Model): Model | undefined {
    const { machine, rules } = this.#setting;
    const { keys } = rules;
    const leader = remainingLeader(model.shelf.read(keys.leader));
    const found = model.shelf.list(keys.candidates).map(({ key }) => key);
    for (const key of leader === undefined ? found : [...found, leader.entry]) {
      const [name = ''] = key.split('/').slice(-1);
      const owner = model.people.find(({ id }) => id === readName(name)?.memberId);
      const campaigns = owner?.state !== undefined && people.nameOf(owner, this.#setting) === name;
      if (campaigns || owner?.enqueueUnknown.includes(name) !== true) continue;
      const remains = { leader, termEntry: model.shelf.read(keys.term), entry: model.shelf.read(key) };
      const [shelf] = model.shelf.swap(machine.releaseChanges(keys, key, remains, { reason: 'abandoned' }));
      return { ...model, shelf };
    }
    return undefined;
  }

  #leftover({ people: all, shelf }: Model): string | undefined {
    const stuck = all.filter(({ state }) => state !== undefined).map(({ id, state }) => `${id} is ${state?.phase}`);
    const keys = [...shelf.rows.keys()].filter((key) => key !== this.#setting.rules.keys.term);
    const problems = [...stuck, ...keys.map((key) => `${key} is left`)];
    return problems.length === 0 ? undefined : problems.join(', ');
  }

  #term(model: Model): bigint {
    return this.#read(model)?.term ?? 0n;
  }

  #read({ shelf }: Model): TermRecord | undefined {
    const entry = shelf.read(this.#setting.rules.keys.term);
    return entry === undefined ? undefined : termIn(entry);
  }

  #of(model: Model, person: Person): readonly Move[] {
    const { budget } = model;
    const moves: Move[] = [];
    const { id, call } = person;
    if (call !== undefined) moves.push([`${id} ${call.type}`, this.#step(model, person, call)], ...this.#staleReads(model, person, call));
    if (call !== undefined && isWrite(call) && budget.lost > 0)
      moves.push([`${id} gives ${call.type} up`, this.#lose(model, person, call)]);
    moves.push(...this.#failures(model, person));
    const news = people.news(person, model.shelf, this.#setting);
    if (news !== undefined)
      moves.push(
        [`${id} sees: ${news === 'lost' ? news : news.type}`, this.#deliver(model, person, news)],
        ...this.#withTerm(model, person, news),
      );
    moves.push(...this.#lateMarks(model, person, news));
    if (mayTimeOut(person) && budget.timeouts > 0) {
      moves.push([`${id} times out`, this.#deliver(spend(model, 'timeouts'), person, { type: 'claimTimedOut' })]);
    }
    if (!person.halted && person.alive && person.state !== undefined && budget.stopped > 0)
      moves.push([`${id} is stopped`, this.#stop(model, person)], ...this.#stopAt(model, person, news));
    if (person.alive && budget.expired > 0) moves.push([`the lease of ${id} ends`, this.#expire(model, person)]);
    if (people.leads(person))
      moves.push([`${id} resigns`, this.#end(model, person)], ...this.#handovers(model, person), ...this.#looks(model, person));
    return moves;
  }

  /** The store has certainly not applied the call, or the caller does not know what it read. */
  #failures(model: Model, person: Person): readonly Move[] {
    const { id, call } = person;
    if (call === undefined || model.budget.failed === 0) return [];
    const fail = (unknown: boolean): Model => replace(spend(model, 'failed'), people.failed(person, unknown, this.#setting));
    const refused: Move = [`${call.type} of ${id} fails`, fail(false)];
    return isWrite(call) ? [refused] : [refused, [`${call.type} of ${id} fails, with an unknown outcome`, fail(true)]];
  }

  /** After the end of the one ahead, a read of the term may be stale: its claim is refused. */
  #staleReads(model: Model, person: Person, call: Call): readonly Move[] {
    if (call.type !== 'lookTerm' || call.queue !== undefined) return [];
    return model.terms.map((seen) => [`${person.id} reads a stale ${seen.termEntry?.revision}`, this.#step(model, person, call, seen)]);
  }

  /** The next candidate also watches the term. That watch may lag too. */
  #withTerm(model: Model, person: Person, news: News): readonly Move[] {
    if (news === 'lost' || (news.type !== 'woke' && news.type !== 'entryChanged')) return [];
    return model.terms.map(({ termEntry }) => [
      `${person.id} sees: ${news.type}, ${termEntry?.revision}`,
      this.#deliver(model, person, { ...news, termEntry }),
    ]);
  }

  /**
   * The watch on its own entry may lag: it shows a mark that the store no longer holds, because the
   * entry has been changed or deleted since. The mark may belong to an earlier campaign, too.
   */
  #lateMarks(model: Model, person: Person, news: News | undefined): readonly Move[] {
    if (person.state?.phase !== 'waiting') return [];
    const { entry: own } = person.state;
    const latest = news === undefined || news === 'lost' || news.type !== 'entryChanged' ? own : news.entry;
    const isShown = (mark: Entry): boolean => mark.key === own.key && [own.revision, latest.revision].includes(mark.revision);
    return model.marks
      .filter((mark) => mark.lease === people.leaseOf(person.id) && !isShown(mark))
      .flatMap((mark) => {
        const event: News = { type: 'entryChanged', entry: mark };
        const what = `${person.id} sees late: ${mark.name} is marked`;
        return [[what, this.#deliver(model, person, event)] as const, ...this.#withTerm(model, person, event)];
      });
  }

  #handovers(model: Model, person: Person): readonly Move[] {
    if (model.budget.handovers === 0) return [];
    const { known } = person;
    const to = (successor: Successor, early: boolean): Model =>
      replace(spend(model, 'handovers'), people.ends(person, 'handover', { successor, early }, this.#setting));
    const others = model.shelf.list(this.#setting.rules.keys.candidates).filter(({ key }) => key !== person.entryKey);
    const found = inSuccession(others, this.#setting.rules.succession).map(({ entry, memberId, incarnation }, place): Move => {
      return [`${person.id} hands over to ${entry.name}`, to({ entry, memberId, incarnation, nobodyAhead: place === 0 }, false)];
    });
    return known === undefined ? found : [...found, [`${person.id} hands over to ${known.entry.name}, found before`, to(known, true)]];
  }

  /** A leader looks for its successor in advance. It may look again, and find another one. */
  #looks(model: Model, person: Person): readonly Move[] {
    if (model.budget.looks === 0) return [];
    const known = people.nextInLine(person, model.shelf, this.#setting);
    if (known === undefined) return [];
    return [[`${person.id} finds ${known.entry.name}`, replace(spend(model, 'looks'), { ...person, known })]];
  }

  /** A resignation is a handover to the known successor, where that is one swap. */
  #end(model: Model, person: Person): Model {
    const { known } = person;
    const chosen = known === undefined || !this.#setting.inOne ? undefined : { successor: known, early: true };
    return replace(model, people.ends(person, 'resigned', chosen, this.#setting));
  }

  #step(model: Model, person: Person, call: Call, seen?: Seen): Model {
    // Its own session lives, so it is the successor's lease that is gone.
    if (this.#isRefused(model, call)) return replace(model, people.receiveRelease(person, { type: 'refused' }, this.#setting));
    const [shelf, after] = people.answer(person, call, model.shelf, this.#setting, seen);
    return replace({ ...model, shelf }, after);
  }

  /** A swap that binds a key to an ended lease has no effect. */
  #isRefused({ people: all }: Model, call: Call): boolean {
    if (call.type !== 'swap') return false;
    const dead = new Set(all.filter(({ alive }) => !alive).map(({ id }) => people.leaseOf(id)));
    return call.changes.some((change) => 'put' in change && dead.has(change.lease ?? ''));
  }

  #lose(model: Model, person: Person, call: Call): Model {
    const late = [...model.late, { by: person.id, attempt: person.attempt, call }];
    return replace({ ...spend(model, 'lost'), late }, people.lost(person, this.#setting));
  }

  #deliver(model: Model, person: Person, news: News): Model {
    if (news === 'lost') return replace(model, people.ends(person, 'recordDeleted', undefined, this.#setting));
    return replace(model, people.receive(person, news, this.#setting));
  }

  /** A stop takes effect between two calls. It ends a wait, and makes a leader resign. */
  #stop(model: Model, person: Person): Model {
    const halted = { ...person, halted: true };
    const spent = spend(model, 'stopped');
    if (person.releaseState?.phase === 'leading') return this.#end(replace(spent, halted), halted);
    if (person.state?.phase !== 'waiting') return replace(spent, halted);
    return replace(spent, people.receive(halted, { type: 'woke' }, this.#setting));
  }

  /** The mark of a handover arrives together with the stop. */
  #stopAt(model: Model, person: Person, news: News | undefined): readonly Move[] {
    if (news === undefined || news === 'lost' || news.type !== 'entryChanged') return [];
    const stopped = people.receive({ ...person, halted: true }, news, this.#setting);
    return [[`${person.id} is stopped at the mark`, replace(spend(model, 'stopped'), stopped)]];
  }

  #expire(model: Model, person: Person): Model {
    const dead: Person = { ...person, alive: false, state: undefined, releaseState: undefined, call: undefined };
    return replace({ ...spend(model, 'expired'), shelf: model.shelf.expire(people.leaseOf(person.id)) }, dead);
  }

  #lateOnes(model: Model): readonly Move[] {
    return model.late.map((late, at) => [`${late.call.type} of ${late.by} is applied late`, this.#applyLate(model, late, at)]);
  }

  #applyLate(model: Model, { by, attempt, call }: Late, at: number): Model {
    const late = model.late.toSpliced(at, 1);
    const owner = { ...model.people.find(({ id }) => id === by)!, attempt };
    if (call.type === 'enqueue') return { ...model, late, shelf: people.enqueue(owner, model.shelf, this.#setting) };
    if (call.type !== 'swap' || this.#isRefused(model, call)) return { ...model, late };
    return { ...model, late, shelf: model.shelf.swap(call.changes)[0] };
  }

  #operator(model: Model): readonly Move[] {
    if (model.budget.deleted === 0) return [];
    const keys = [...model.shelf.rows.keys()].filter((key) => key !== this.#setting.rules.keys.term);
    return keys.map((key) => [`an operator deletes ${key}`, { ...spend(model, 'deleted'), shelf: model.shelf.delete(key) }]);
  }

  /**
   * An operator requests a handover in the entry of the present leader, or withdraws the request.
   */
  #requests(model: Model): readonly Move[] {
    const lastTerm = this.#read(model);
    const entry = lastTerm === undefined || lastTerm.ended !== undefined ? undefined : model.shelf.read(lastTerm.entry);
    if (model.budget.requests === 0 || entry === undefined) return [];
    if (!isRecordOf(model.shelf.read(this.#setting.rules.keys.leader), entry.key)) return [];
    const isRequested = readCandidate(entry).handTo !== undefined;
    const write = this.#setting.older.includes('operator') ? writeOlderRequest : writeRequest;
    const put = write(entry, isRequested ? undefined : 'nobody');
    const [shelf] = model.shelf.swap([{ key: entry.key, expect: entry.revision, put }]);
    const what = `an operator ${isRequested ? 'withdraws the' : 'writes a'} request in ${entry.name}`;
    return [[what, { ...spend(model, 'requests'), shelf }]];
  }
}

/** What was parsed of an entry. Most steps leave most entries as they are. */
const parsedTerms = new WeakMap<Entry, TermRecord>();
const parsedMarks = new WeakMap<Entry, boolean>();

function termIn(entry: Entry): TermRecord {
  const record = parsedTerms.get(entry) ?? readTerm(entry);
  parsedTerms.set(entry, record);
  return record;
}

function isMarked(entry: Entry): boolean {
  const isIt = parsedMarks.get(entry) ?? readCandidate(entry).handoverTerm !== undefined;
  parsedMarks.set(entry, isIt);
  return isIt;
}

/** An older version keeps the field `elected`, which it does not know. */
function writeOlderRequest(entry: Entry, handTo: string | undefined): Uint8Array {
  return changeCandidate(entry, { elected: readCandidate(entry).raw['elected'], handTo });
}

function isWrite(call: Call): boolean {
  return call.type === 'enqueue' || call.type === 'swap';
}

function mayTimeOut({ state }: Person): boolean {
  return state?.phase === 'waiting' && (state.wait.for === 'successor' || (state.wait.for === 'ahead' && state.wait.position > 0));
}
