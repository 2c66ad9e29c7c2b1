import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { hostname } from 'node:os';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Leadership, Member, openStore } from 'incumbent';

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const [url = 'kubernetes:', everyMs = '1000', account = ACCOUNT] = process.argv.slice(2);

// The Lease and the times of the old program. RENEW_DEADLINE_MS and TTL_MS are not longer than
// LEASE_DURATION_MS together: so the leadership ends before anybody else can take the Lease.
const LEASE = 'controller';
const [LEASE_DURATION_MS, RENEW_DEADLINE_MS, RETRY_PERIOD_MS] = [15_000, 10_000, 2_000];
const TTL_MS = 5_000;
const FREE = { holderIdentity: '', leaseDurationSeconds: 1 };

const identity = `${hostname()}_${randomUUID()}`;
const store = await openStore(url);
const member = new Member(store, { ttlMs: TTL_MS });
const election = member.election('controller');
const stopping = new AbortController();
process.on('SIGTERM', () => stopping.abort());

/** The version of the Lease that was read last, and when it was read first. */
let seen: { readonly version?: string | undefined; readonly at: number } = { at: -Infinity };

while (!stopping.signal.aborted) {
  try {
    const held = await takeLease();
    if (held !== undefined) await leadWith(held);
  } catch (error) {
    if (!stopping.signal.aborted) console.error('lost the Lease, or failed to get it:', error);
  }
  await sleep(RETRY_PERIOD_MS, undefined, { signal: stopping.signal }).catch(() => {});
}
await member.close();
await store.close();

/** Leads for one term at most, and keeps the Lease until the work has stopped. */
async function leadWith(held: HeldLease): Promise<void> {
  const [lost, stopped] = [new AbortController(), new AbortController()];
  const kept = keepLease(held, lost, stopped.signal);
  const signal = AbortSignal.any([lost.signal, stopping.signal]);
  try {
    await election.tryLead((leadership) => reconcile(leadership, held), { signal });
  } finally {
    stopped.abort();
    await kept;
    // Comes last: until then, no old process can lead.
    if (!lost.signal.aborted) await write(held.lease, FREE);
  }
}

async function reconcile(leadership: Leadership, held: HeldLease): Promise<void> {
  // The API server was away for too long to be sure of the Lease.
  if (performance.now() > held.sentAt + RENEW_DEADLINE_MS) return;
  while (leadership.isValid()) {
    console.log(`reconciles in term ${leadership.term}`);
    await sleep(Number(everyMs), undefined, { signal: leadership.signal });
  }
}

// The rest is the protocol of client-go's leaderelection with a Lease.

/** The fields that this program uses. The others are sent back as they are. */
interface Lease {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string };
  readonly spec: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly leaseTransitions?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
  };
}

interface HeldLease {
  lease: Lease;
  /** When the last request that took or renewed the Lease was sent. */
  sentAt: number;
}

/** Takes the Lease if nobody has it, or if its holder has not renewed it for its whole duration. */
async function takeLease(): Promise<HeldLease | undefined> {
  const found = await call('GET', `/${LEASE}`);
  const version = found?.metadata.resourceVersion;
  if (version !== seen.version) seen = { version, at: performance.now() };
  const { holderIdentity: holder = '', leaseDurationSeconds: seconds = 0 } = found?.spec ?? {};
  const expiresAt = seen.at + Math.max(seconds * 1_000, LEASE_DURATION_MS);
  if (holder !== '' && holder !== identity && performance.now() < expiresAt) return undefined;
  const sentAt = performance.now();
  const lease = await write(found ?? { metadata: { name: LEASE }, spec: {} }, {
    holderIdentity: identity,
    leaseDurationSeconds: LEASE_DURATION_MS / 1_000,
    leaseTransitions: (found?.spec.leaseTransitions ?? -1) + 1,
    acquireTime: now(),
  });
  return lease === undefined ? undefined : { lease, sentAt };
}

/** Renews until the work has stopped. Aborts `lost` if the Lease was not renewed in time. */
async function keepLease(held: HeldLease, lost: AbortController, stopped: AbortSignal) {
  while (!stopped.aborted && !lost.signal.aborted) {
    const leftMs = held.sentAt + RENEW_DEADLINE_MS - performance.now();
    const deadline = setTimeout(() => lost.abort(new Error('not renewed in time')), leftMs);
    await sleep(RETRY_PERIOD_MS, undefined, { signal: stopped }).catch(() => {});
    try {
      if (!stopped.aborted) await renewLease(held, lost);
    } catch (error) {
      console.error('failed to renew the Lease:', error);
    }
    clearTimeout(deadline);
  }
}

async function renewLease(held: HeldLease, lost: AbortController): Promise<void> {
  const sentAt = performance.now();
  const renewed = await write(held.lease, {});
  if (renewed !== undefined) {
    held.lease = renewed;
    held.sentAt = sentAt;
    return;
  }
  // Somebody has changed the Lease, or it has been renewed by a request whose answer was lost.
  const found = await call('GET', `/${LEASE}`);
  if (found?.spec.holderIdentity === identity) held.lease = found;
  else lost.abort(new Error('another process has taken the Lease'));
}

/** Undefined if the Lease has changed since it was read. Then nothing is written. */
async function write(lease: Lease, spec: Lease['spec']): Promise<Lease | undefined> {
  const isNew = lease.metadata.resourceVersion === undefined;
  const body = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    ...lease,
    spec: { ...lease.spec, ...spec, renewTime: now() },
  };
  return isNew ? call('POST', '', body) : call('PUT', `/${LEASE}`, body);
}

/** Kubernetes wants six digits after the point. */
function now(): string {
  return new Date().toISOString().replace('Z', '000Z');
}

/** Undefined if the Lease does not exist, or has changed since it was read. */
async function call(method: string, path: string, body?: Lease): Promise<Lease | undefined> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
  const read = (name: string): string => readFileSync(`${account}/${name}`, 'utf8').trim();
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request({
      host,
      port,
      method,
      path: `/apis/coordination.k8s.io/v1/namespaces/${read('namespace')}/leases${path}`,
      ca: read('ca.crt'),
      headers: { authorization: `Bearer ${read('token')}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(RENEW_DEADLINE_MS / 2),
    });
    sent.on('response', resolve).on('error', reject);
    sent.end(JSON.stringify(body));
  });
  const answer: unknown = await json(response);
  if (response.statusCode === 404 || response.statusCode === 409) return undefined;
  if (!isLease(answer)) throw new Error(`${response.statusCode}: ${JSON.stringify(answer)}`);
  return answer;
}

function isLease(answer: unknown): answer is Lease {
  return typeof answer === 'object' && answer !== null && 'metadata' in answer && 'spec' in answer;
}
