import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { TestConsole } from './support/test-console.ts';

let console: TestConsole;
beforeEach(() => {
  console = new TestConsole();
});
afterEach(async () => console[Symbol.asyncDispose]());

function lines(out: string): readonly string[] {
  return out.trimEnd().split('\n');
}

describe('groups', () => {
  it('lists the members of every group of the namespace, or of those named', async () => {
    await (await console.member('web-2')).group('brokers', { value: { url: 'http://b' } }).join();
    await (await console.member('web-1')).group('brokers').join();
    await (await console.member('web-3')).group('apis', { value: 7 }).join();
    const rows = async (...names: string[]): Promise<unknown> =>
      lines((await console.run(['groups', ...names])).out).map((line) => line.split(/ +/).toSpliced(2, 1));
    const brokers = [
      ['brokers', 'web-2', '{"url":"http://b"}'],
      ['brokers', 'web-1'],
    ];
    expect(await rows()).toEqual([['GROUP', 'MEMBER', 'VALUE'], ['apis', 'web-3', '7'], ...brokers]);
    expect(await rows('brokers', 'none')).toEqual([['GROUP', 'MEMBER', 'VALUE'], ...brokers]);
    const json = lines((await console.run(['groups', '--json'])).out).map((line): unknown => JSON.parse(line));
    expect(json).toMatchObject([
      { type: 'groupMember', group: 'apis', memberId: 'web-3', value: 7 },
      { group: 'brokers', memberId: 'web-2', value: { url: 'http://b' } },
      { group: 'brokers', memberId: 'web-1' },
    ]);
  });

  it('says so if nobody has joined, and joins nothing itself', async () => {
    expect(await console.run(['groups'])).toEqual({ code: 0, out: '', err: 'no group of this store has members\n' });
    expect(await console.run(['groups', 'a', 'b'])).toEqual({ code: 0, out: '', err: 'nobody has joined "a", "b" in this store\n' });
  });

  it('leaves out keys under a name that no group can have', async () => {
    await (await console.member('web-1')).group('brokers').join();
    await console.write('groups/~x/web-9', 'hello');
    const { code, out, err } = await console.run(['groups']);
    expect([code, lines(out).length, err]).toEqual([0, 2, '']);
  });

  it('leaves out a record that cannot be read, and names it on standard error', async () => {
    await (await console.member('web-1')).group('brokers').join();
    await console.write('groups/brokers/web-9', 'hello');
    const { code, out, err } = await console.run(['groups']);
    expect([code, lines(out).length]).toEqual([0, 2]);
    expect(err).toMatch(/^incumbent: a key of the SDK holds data that this process cannot read \(groups\/brokers\/web-9 .*\)\n$/);
  });
});
