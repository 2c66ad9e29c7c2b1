import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeScratch } from '@incumbent/test-support';
import { spansOf } from '../check/rule.ts';
import type { StoreFault } from '../faults/fault.ts';
import { only, type ChaosEvent } from '../history.ts';
import { Nemesis } from '../nemesis.ts';
import { Recorder } from '../recorder.ts';
import type { Site } from '../site/site.ts';

const site: Site = {
  store: 'sqlite',
  version: '1',
  url: '',
  serverUrls: [],
  servers: [],
  mayEndEarly: false,
  leader: async () => 0,
  openWay: async () => ({ url: '', proxies: [], oneAddress: false }),
  deleteRecord: async () => {},
  deleteEntry: async () => {},
  [Symbol.asyncDispose]: async () => {},
};

/** The history of a storm with one fault of the store. */
async function storm(
  begin: StoreFault['begin'],
): Promise<{ readonly history: readonly ChaosEvent[]; readonly complaints: readonly string[] }> {
  const folder = await makeScratch('nemesis');
  const complaints: string[] = [];
  try {
    using recorder = new Recorder(join(folder.path, 'history.jsonl'));
    const fault: StoreFault = { name: 'rollServers', on: 'store', target: 'servers', weight: 1, appliesTo: () => true, begin };
    const crew = { members: [], leader: undefined };
    const nemesis = new Nemesis({
      site,
      crew,
      recorder,
      faults: [fault],
      random: () => 0,
      complain: (problem) => complaints.push(problem),
    });
    await nemesis.storm({ stormMs: 20, steps: [{ id: 1, at: 1, for: 5, fault: 'rollServers', aim: 0 }] });
    return { history: recorder.history, complaints };
  } finally {
    await folder.remove();
  }
}

describe('the nemesis', () => {
  it('records a repair that fails, and the end of the fault', async () => {
    const { history, complaints } = await storm(async () => () => Promise.reject(new Error('it does not start')));
    expect(only(history, 'unrepaired')).toMatchObject([{ fault: 'rollServers', target: 'servers', error: 'Error: it does not start' }]);
    expect(complaints).toEqual(['rollServers: Error: it does not start']);
    expect(spansOf(only(history, 'fault')).map(({ to }) => to)).not.toContain(Infinity);
  });

  it('records no failed repair where the fault ends', async () => {
    const { history, complaints } = await storm(async () => () => {});
    expect([...only(history, 'unrepaired'), ...complaints]).toEqual([]);
    expect(only(history, 'fault').map(({ what }) => what)).toEqual(['begins', 'hit', 'ends']);
  });
});
