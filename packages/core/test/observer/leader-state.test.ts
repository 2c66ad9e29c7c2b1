import { expect, it } from 'vitest';
import type { Entry } from '../../src/index.ts';
import { sleep } from '../../src/async/sleep.ts';
import { relay } from '../support/relay.ts';
import { LEADER, TERM, World } from '../support/world.ts';

function led(term: number): object {
  return { v: 1, term: String(term), memberId: 'm', incarnation: 'i', entry: `e${term}` };
}

it('an ended term is not shown as led again when a late event of the watch shows its leader', async () => {
  const world = new World();
  const behind = world.connect();
  const entry = (): Entry | undefined => world.server.entries().find(({ key }) => key === LEADER);
  world.put(LEADER, led(1));
  world.put(TERM, led(2));
  const late = { ...entry()!, value: new TextEncoder().encode(JSON.stringify(led(2))) };
  world.server.deleteKey(LEADER);
  const store = relay(behind, {
    async *watch(key, options) {
      for await (const state of behind.watch(key, options)) {
        yield state;
        await sleep(world.clock, 10);
        if (state === undefined) yield late;
      }
    },
  });
  const views: string[] = [];
  world.observer({}, store).subscribe(({ state }) => views.push(state));
  await world.pass(100);
  expect(views).toEqual(['unknown', 'vacant']);
  world.put(LEADER, led(2));
  await world.pass(100);
  expect(views).toEqual(['unknown', 'vacant', 'leader']);
});

it('a value is not shown again after a newer one of its term, where the watch repeats it', async () => {
  const world = new World();
  const leadership = await world.elect(world.member('a'));
  const behind = world.connect();
  const store = relay(behind, {
    async *watch(key, options) {
      let before: Entry | undefined;
      for await (const state of behind.watch(key, options)) {
        yield state;
        await sleep(world.clock, 20);
        if (before !== undefined) yield before;
        await sleep(world.clock, 20);
        yield state;
        before = state;
      }
    },
  });
  const values = (): unknown[] => {
    const all: unknown[] = [];
    world.observer({}, store).subscribe((view) => (view.state === 'leader' ? all.push(view.value) : undefined));
    return all;
  };
  const first = values();
  await world.pass(100);
  await world.run(leadership.publish('one'));
  await world.pass(100);
  await world.run(leadership.publish('two'));
  await world.pass(10);
  const newcomer = values();
  await world.pass(5);
  const { read } = world.server.requests;
  await world.pass(100);
  expect([first, newcomer]).toEqual([[undefined, 'one', 'two'], ['two']]);
  expect(world.server.requests.read - read, 'one read for the repeated value').toBe(1);
});
