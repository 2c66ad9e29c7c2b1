/** Clients of servers that send too much data. */

import assert from 'node:assert/strict';
import { CASES, caseOf, measure, measureHttp2Floor } from '../hostile/measure.ts';
import type { Check } from './check.ts';

/**
 * The target is 64 MiB and 100 ms, on a quiet machine. The limits leave room for etcd, which misses
 * the target because of Node's HTTP/2, and for other work of the machine.
 */
const MAX_GROWTH_MIB = 144;
const MAX_BLOCKED_MS = 250;

export const hostileServers: Check = {
  name: 'hostile-servers',
  claim:
    `A client of a server that sends too much data grows by less than ${MAX_GROWTH_MIB} MiB and blocks its event loop for less than ${MAX_BLOCKED_MS} ms at a time. ` +
    'Each call ends with a result or an error code, and the client works again when the server does.',
  method:
    'A process opens a store of etcd, ZooKeeper, Consul, PostgreSQL or Redis, lists with four calls at a time, and watches a list, for 4 s. The server is a hostile one of this ' +
    'repository. It sends an endless answer before or after authentication, or 64 MiB of tiny values, or the longest bodies that clients accept one after the other, ' +
    'or a long answer one byte at a time. Each store meets each attack once in 25 runs. Afterwards the server answers correctly, and the store must work. ' +
    'rssMiB: the peak growth of the resident memory, after 300 calls to a correct server. externalMiB: the growth of buffers. blockedMs: the longest processor time of one turn of the event loop. ' +
    'http2FloorMiB, once for each attack of etcd: the growth of a process that reads the long answers over the HTTP/2 of Node, and discards them.',
  runs: CASES.length,
  parallel: 1,
  open: () =>
    Promise.resolve({
      run: async (index, { isTimed }) => {
        const one = caseOf(index);
        const { rssMiB, externalMiB, blockedMs } = await measure(one);
        const what = `${one.name}, ${one.attack}`;
        assert.ok(rssMiB < MAX_GROWTH_MIB, `${what}: grew by ${rssMiB} MiB`);
        if (isTimed) assert.ok(blockedMs < MAX_BLOCKED_MS, `${what}: blocked for ${blockedMs} ms`);
        const floor = one.name === 'etcd' ? { http2FloorMiB: await measureHttp2Floor() } : {};
        return { figures: { rssMiB, externalMiB, blockedMs, ...floor } };
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
};
