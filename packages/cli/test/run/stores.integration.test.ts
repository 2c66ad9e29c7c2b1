import { groupIsGone } from '@incumbent/reaper';
import { requireStore, until, type ScriptProcess } from '@incumbent/test-support';
import { openStore } from 'incumbent';
import { beforeEach, describe, expect, it } from 'vitest';

import { unkilled } from '../support/killed.ts';
import { stores } from '../support/stores.ts';
import { incumbent, lastBeat, DEADLINE_MS, programThat, says, started, startRun } from '../support/command.ts';

async function isAvailable(name: (typeof stores)[number]['name']): Promise<boolean> {
  return name === 'sqlite' || requireStore({ store: name });
}

for (const { name, ttl, options, fresh } of stores) {
  describe.runIf(await isAvailable(name))(`run on ${name}`, { timeout: 180_000 }, () => {
    let store: string;
    beforeEach(async () => {
      store = await fresh();
    });

    async function startTwo(atTtl = ttl): Promise<readonly [ScriptProcess, ScriptProcess]> {
      const args = ['--ttl', atTtl, ...options, ...programThat('ignores', 'child')];
      const a = await startRun(store, 'a', args);
      await started(a);
      const b = await startRun(store, 'b', args);
      await says(b, 'waits to lead');
      await until(async () => (await incumbent(['candidates', 'controller'], { INCUMBENT_STORE: store })).output.includes('b  '), {
        what: 'b is in the queue',
        withinMs: DEADLINE_MS,
      });
      return [a, b];
    }

    it('that is killed takes its program with it before the next one starts, long before the ttl is over', async () => {
      const [a, b] = await startTwo('10s');
      await using _a = a;
      await using _b = b;
      const { fields } = await started(a);
      const group = Number(fields['pid']);
      expect(await unkilled(group)).not.toEqual([]);
      const killedAt = process.hrtime.bigint();
      a.sigkill();
      const next = await started(b);
      expect(await unkilled(group)).toEqual([]);
      await until(() => groupIsGone(group), { what: 'the program is gone', withinMs: DEADLINE_MS });
      expect(lastBeat(a, '1')).toBeLessThan(next.at);
      expect(Number(next.at - killedAt) / 1e6).toBeLessThan(9_000);
    });

    it('that is paused has its program killed before another member leads, and campaigns again when it continues', async () => {
      const [a, b] = await startTwo();
      await using _a = a;
      await using _b = b;
      const { fields } = await started(a);
      const group = Number(fields['pid']);
      expect(await unkilled(group)).not.toEqual([]);
      a.sigstop();
      const next = await started(b);
      expect(await unkilled(group)).toEqual([]);
      // A killed process does nothing any more, but it needs a processor to be gone, and many wait
      // for one.
      await until(() => groupIsGone(group), { what: 'the program is gone', withinMs: DEADLINE_MS });
      expect(lastBeat(a, '1')).toBeLessThan(next.at);
      a.sigcont();
      await says(a, 'leads no more in term 1');
      b.sigterm();
      b.sigkill();
      const again = await started(a, a.events.findIndex(({ event }) => event === 'started') + 2);
      expect(BigInt(String(again.fields['term']))).toBeGreaterThan(BigInt(String(next.fields['term'])));
    });

    it('passes doctor, which leaves no key behind', async () => {
      // Opening creates the file of a SQLite store, which doctor does not.
      await (await openStore(store)).close();
      const found = await incumbent(['doctor', '--json', '--ttl', ttl], { INCUMBENT_STORE: store });
      expect(found.code).toBe(0);
      const lines = found.output
        .trim()
        .split('\n')
        .map((line): { readonly level: string; readonly what: string; readonly detail: string } => JSON.parse(line));
      expect(lines.filter(({ level }) => level === 'failure')).toEqual([]);
      expect(lines.map(({ what }) => what)).toEqual(expect.arrayContaining(['reached', 'store', 'renew', 'reads', 'writes', 'elections']));
      const facts = ['replication', 'durability', 'pooler', 'connections', 'tables', 'open transactions'];
      if (name === 'postgres') expect(lines.map(({ what }) => what)).toEqual(expect.arrayContaining(facts));
      // ZooKeeper's protocol does not report the server's version.
      const version = lines.find(({ what }) => what === 'store')?.detail;
      expect(version).toMatch(name === 'zookeeper' ? /^zookeeper$/ : /^\w+ .*\d+\.\d+/);
      const left = await incumbent(['status'], { INCUMBENT_STORE: store });
      expect(left).toEqual({ code: 0, output: expect.stringMatching(/^there has been no election in the namespace ".+"\n$/) });
    });
  });
}
