/**
 * One run: a site, a crew, storms and calms, and a check of what is left when all members have
 * gone.
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from 'incumbent';
import { findFakeClock, until } from '@incumbent/test-support';
import { randomOf } from '@incumbent/test-support/random';
import { commit } from '../integration/evidence/runs.ts';
import { Crew, type StoreReport } from './crew.ts';
import { faultsFor } from './faults/index.ts';
import type { ChaosEvent, Phase } from './history.ts';
import { WORK } from './names.ts';
import { Nemesis, serverName } from './nemesis.ts';
import { drawPlan, tellRound } from './plan.ts';
import { Recorder } from './recorder.ts';
import { sites } from './site/index.ts';
import type { Site, SiteOptions, StoreName } from './site/site.ts';
import { LeaseMonitor } from './lease-monitor.ts';

export interface RunOptions extends Omit<SiteOptions, 'oneAddress'> {
  readonly store: StoreName;
  readonly minutes: number;
  readonly seed: number;
  /** The number of members. Default 4. */
  readonly members?: number;
  /** Only these faults. Default: all that are possible. */
  readonly only?: readonly string[];
  /** Additional environment variables of the members. */
  readonly memberEnv?: Readonly<Record<string, string>>;
  /** The folder of the history and the other files of the run. */
  readonly folder: string;
}

export interface Ran {
  readonly history: readonly ChaosEvent[];
  /** The history's file. */
  readonly file: string;
}

const MEMBERS = 4;
const TTL_MS = 3_000;
/** A member has led for this many ms before the members are asked who leads. */
const LED_MS = 9_000;
/** A busy machine may be slow. A member that does not answer in this time breaks a promise. */
const ANSWERS_MS = 10_000;
/**
 * A calm without a leader is awaited slightly longer than allowed, so that the checker sees the
 * violation.
 */
const BEYOND_MS = 5_000;
/**
 * While one server is faulty and a quorum works, a new leader may take this many ms in addition to
 * the store's time to end a lease.
 */
const SICK_MS = 5_000;
/** A candidate without notifications reads for itself within this many ttls. */
const READS_WITHIN_TTLS = 3.75;
/** With this many servers one may be faulty. */
const QUORUM_OF = 3;
/**
 * Not a fault with a duration: whether members have one address for all servers is drawn for the
 * whole run.
 */
const ONE_ADDRESS = 'oneAddress';
const ADDRESS_STREAM = 0x61_64_64;
const LAG_EVERY_MS = 50;
const LAG_MS = 250;

export async function run(options: RunOptions): Promise<Ran> {
  const { folder, store, seed, minutes, only, members = MEMBERS, memberEnv = {} } = options;
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `history-${store}-${seed}.jsonl`);
  using recorder = new Recorder(file);
  using _lag = watchLag(recorder);
  const oneAddress = only?.includes(ONE_ADDRESS) ?? randomOf(seed ^ ADDRESS_STREAM)() < 0.5;
  const site = await sites[store]({ ...options, oneAddress });
  await using _site = site;
  const fakeClock = await findFakeClock((error) => options.say(`no wall clock is set in this run: ${String(error)}`));
  const crew = await Crew.open({ site, recorder, size: members, ttlMs: TTL_MS, folder, fakeClock, env: memberEnv });
  await using _crew = crew;
  const random = randomOf(seed);
  const applying = faultsFor(site, { fakeClock: fakeClock !== undefined });
  const unknown = only?.filter((name) => name !== ONE_ADDRESS && !applying.some((fault) => fault.name === name)) ?? [];
  if (unknown.length > 0)
    throw new RangeError(`${store} has no fault ${unknown.join(', ')}: there are ${applying.map(({ name }) => name).join(', ')}`);
  const faults = applying.filter(({ name }) => only?.includes(name) ?? true);
  const header = headerOf(options, site, crew, await crew.start());
  const sickMs = site.servers.length < QUORUM_OF ? undefined : header.sickMs;
  const plan = drawPlan({ seed, minutes, ttlMs: TTL_MS, sickMs, silentMs: header.silentMs, faults, random });
  recorder.add(header);
  await using _monitor = header.endsEarly === undefined ? undefined : new LeaseMonitor(recorder, urlsOf(site));
  options.say(`${store} ${site.version}, ${members} members, seed ${seed}: ${plan.rounds.length} storms; history in ${file}`);
  const nemesis = new Nemesis({ site, crew, recorder, faults, random, complain: (problem) => options.say(`  ${problem}`) });
  if (header.oneAddress !== undefined) options.say(`  ${header.oneAddress.join(' and ')} reach the servers through one address each`);
  for (const [index, round] of plan.rounds.entries()) {
    enter(recorder, 'storm');
    options.say(`  storm ${index + 1} of ${plan.rounds.length}: ${tellRound(round)}`);
    await nemesis.storm(round);
    await calm(recorder, crew, header.recoveryMs);
    options.say(`    is over; ${crew.leader?.id ?? 'nobody'} leads`);
  }
  enter(recorder, 'over');
  await Promise.all(crew.members.map((member) => member.leave()));
  await inspect(recorder, site);
  return { history: recorder.history, file };
}

function headerOf(
  { store, seed, minutes, forgets }: RunOptions,
  site: Site,
  crew: Crew,
  told: StoreReport,
): Extract<ChaosEvent, { type: 'run' }> {
  const oneAddress = crew.members.flatMap(({ id, way }) => (way.oneAddress ? [id] : []));
  return {
    type: 'run',
    at: 0,
    store,
    version: site.version,
    commit: commit(),
    seed,
    minutes,
    members: crew.members.map(({ id }) => id),
    servers: site.servers.map((_, index) => serverName(index)),
    ttlMs: TTL_MS,
    recoveryMs: told.expiresWithinMs + 3 * TTL_MS,
    sickMs: told.expiresWithinMs + SICK_MS,
    silentMs: told.expiresWithinMs + SICK_MS + READS_WITHIN_TTLS * TTL_MS,
    ...(forgets ? { forgets } : {}),
    ...(oneAddress.length === 0 ? {} : { oneAddress }),
    ...(site.mayEndEarly && told.endsEarly !== undefined ? { endsEarly: told.endsEarly } : {}),
  };
}

function urlsOf({ serverUrls }: Site): ReadonlyMap<string, string> {
  return new Map(serverUrls.map((url, index) => [serverName(index), url]));
}

function enter(recorder: Recorder, phase: Phase): void {
  recorder.add({ type: 'phase', at: recorder.now(), phase });
}

/**
 * All faults are healed. Waits until a member has led for a while, and asks all members who leads.
 */
async function calm(recorder: Recorder, crew: Crew, recoveryMs: number): Promise<void> {
  enter(recorder, 'calm');
  await until(() => crew.leader, { what: 'a leader', withinMs: recoveryMs + BEYOND_MS }).catch(() => {});
  await sleep(LED_MS);
  enter(recorder, 'asked');
  const from = recorder.history.length;
  const asked = crew.members.filter((member) => member.order({ answer: true })).length;
  const answers = (): boolean => recorder.history.slice(from).filter(({ type }) => type === 'answered').length === asked;
  await until(answers, { what: 'everybody has answered', withinMs: ANSWERS_MS }).catch(() => {});
}

/** Reads what the store contains when all members have left. */
async function inspect(recorder: Recorder, { url }: Site): Promise<void> {
  await using store = await openStore(url);
  const call = { timeoutMs: 10_000 };
  for (const { name, value } of await store.list(WORK, call)) {
    recorder.add({ type: 'kept', at: recorder.now(), term: BigInt(name), n: Number(Buffer.from(value).toString()) });
  }
  const keys = (await Promise.all(['elections', 'members'].map((prefix) => store.list(prefix, call)))).flat().map(({ key }) => key);
  recorder.add({ type: 'left', at: recorder.now(), keys: keys.filter((key) => !key.endsWith('/term')) });
}

/** Reports when this process was delayed, and perhaps the whole machine with it. */
function watchLag(recorder: Recorder): Disposable {
  let last = recorder.now();
  const timer = setInterval(() => {
    const now = recorder.now();
    const ms = now - last - LAG_EVERY_MS;
    if (ms > LAG_MS) recorder.add({ type: 'lagged', at: now, ms });
    last = now;
  }, LAG_EVERY_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
