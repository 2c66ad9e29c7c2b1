import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { Console } from './support/console.ts';

let desk: Console;
beforeEach(() => {
  desk = new Console();
});
afterEach(async () => desk[Symbol.asyncDispose]());

function lines(out: string): readonly string[] {
  return out.trimEnd().split('\n');
}

describe('leader', () => {
  it('says who leads, with the term and what is published', async () => {
    await desk.leads('web-1', 'db', { url: 'http://a' });
    expect(await desk.ask(['leader', 'db'])).toEqual({ code: 0, out: 'web-1  term 1  {"url":"http://a"}\n', err: '' });
    const { code, out } = await desk.ask(['leader', 'db', '--json']);
    expect([code, JSON.parse(out)]).toMatchObject([0, { election: 'db', leader: 'web-1', term: '1', value: { url: 'http://a' } }]);
  });

  it('says on standard error that nobody leads, with 1; as JSON, that the leader is null', async () => {
    expect(await desk.ask(['leader', 'db'])).toEqual({ code: 1, out: '', err: 'nobody leads "db"\n' });
    await (await desk.leads('web-1')).resign();
    expect(await desk.ask(['leader', 'db'])).toMatchObject({ code: 1, err: 'nobody leads "db" (the last term was 1)\n' });
    const { code, out } = await desk.ask(['leader', 'db', '--json']);
    expect([code, JSON.parse(out)]).toEqual([1, { election: 'db', leader: null, term: '1', ended: 'resigned', stopping: false }]);
  });
});

describe('candidates', () => {
  it('are shown in the order in which they would lead', async () => {
    await desk.leads('web-1', 'db', 1);
    await desk.waits('web-2');
    const { code, out } = await desk.ask(['candidates', 'db']);
    expect([code, lines(out).map((line) => line.split(/ +/).slice(0, 3))]).toEqual([
      0,
      [
        ['#', 'MEMBER', 'STATE'],
        ['0', 'web-1', 'leads'],
        ['1', 'web-2', 'waits'],
      ],
    ]);
    const json = lines((await desk.ask(['candidates', 'db', '--json'])).out).map((line): unknown => JSON.parse(line));
    expect(json).toMatchObject([
      { position: 0, memberId: 'web-1', leads: true, value: 1, succession: 'fifo' },
      { position: 1, memberId: 'web-2', leads: false },
    ]);
  });
});

describe('status', () => {
  it('shows every election of the namespace, or those named', async () => {
    await desk.leads('web-1', 'db');
    await desk.waits('web-2', 'db');
    await (await desk.leads('web-3', 'cron')).resign();
    expect(lines((await desk.ask(['status'])).out)).toEqual([
      'ELECTION  LEADER  TERM  CANDIDATES  STATE',
      'cron      -       1     0           vacant: resigned',
      'db        web-1   1     2           led',
    ]);
    expect(lines((await desk.ask(['status', 'db', 'none'])).out)).toEqual([
      'ELECTION  LEADER  TERM  CANDIDATES  STATE',
      'db        web-1   1     2           led',
      'none      -       -     0           vacant: nobody has led',
    ]);
    const json = lines((await desk.ask(['status', '--json'])).out).map((line): unknown => JSON.parse(line));
    expect(json).toMatchObject([
      { name: 'cron', ended: 'resigned' },
      { name: 'db', leader: { memberId: 'web-1', term: '1' } },
    ]);
  });
});

describe('what others have written', () => {
  const write = async (key: string, text: string): Promise<void> => {
    const { openMemory } = await import('@incumbent/memory');
    await using store = await openMemory(`memory:${desk.name}`);
    const entry = await store.read(key, { timeoutMs: 1_000 });
    await store.compareAndSwap([{ key, expect: entry?.revision ?? null, put: new TextEncoder().encode(text) }], { timeoutMs: 1_000 });
  };

  it('under a name that no election can have is no election', async () => {
    await desk.leads('web-1', 'db');
    await write('elections/~x/leader', 'hello');
    expect(await desk.ask(['status'])).toMatchObject({ code: 0, out: expect.not.stringContaining('~x') });
  });

  it('in place of a record is shown as such, and the other elections too', async () => {
    await desk.leads('web-1', 'db');
    await write('elections/cron/leader', 'hello');
    const { code, out } = await desk.ask(['status']);
    expect([code, lines(out)]).toEqual([
      3,
      [
        'ELECTION  LEADER  TERM  CANDIDATES  STATE',
        expect.stringMatching(/^cron {6}\? {7}\? {5}\? {11}cannot be read: FOREIGN_DATA: /),
        'db        web-1   1     1           led',
      ],
    ]);
    const json = lines((await desk.ask(['status', '--json'])).out).map((line): unknown => JSON.parse(line));
    expect(json).toMatchObject([{ name: 'cron', error: { code: 'FOREIGN_DATA' } }, { name: 'db' }]);
  });

  it.each([true, false])(
    'is shown without what moves the cursor, hides text or turns it around, on a terminal or not (%s)',
    async (tty) => {
      const value = 'a\u001b[2Jb\u009b2Jc\u007fd\u202ee\u2028f\rg\nh';
      const leadership = await desk.leads('web-1', 'db');
      await leadership.publish(value);
      for (const args of [
        ['leader', 'db'],
        ['candidates', 'db'],
        ['leader', 'db', '--json'],
      ]) {
        const { out } = await desk.ask(args, { tty });
        const ours = ['\u001b[2m', '\u001b[22m', '\n'];
        const shown = ours.reduce((text, code) => text.replaceAll(code, ''), out);
        expect(shown).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u);
        if (args.includes('--json')) expect(JSON.parse(out)).toMatchObject({ value });
      }
      const odd = await desk.ask(['leader', 'd\u001b[2Jb'], { tty });
      expect(odd).toMatchObject({ code: 2, err: expect.not.stringContaining('\u001b[2J') });
    },
  );
});

describe('resign', () => {
  it('makes the present leader step down, and says who follows', async () => {
    const first = await desk.leads('web-1');
    first.waitUntil(first.ended);
    await desk.waits('web-2');
    expect(await desk.ask(['resign', 'db'])).toEqual({
      code: 0,
      out: '"web-1" is told to step down from term 1\n"web-2" leads in term 2\n',
      err: '',
    });
    expect(await first.ended).toMatchObject({ reason: 'recordDeleted' });
  });

  it('does nothing in another term than the one that is named', async () => {
    const first = await desk.leads('web-1');
    const { code, out, err } = await desk.ask(['resign', 'db', '--term', '7']);
    expect([code, out, err]).toEqual([1, '', 'incumbent: "web-1" leads "db" in term 1, not 7: nothing was done\n']);
    expect(first.isValid()).toBe(true);
  });

  it('says so when the leader has not let go in time', async () => {
    const first = await desk.leads('web-1');
    first.waitUntil(new Promise(() => {}));
    const { code, err } = await desk.ask(['resign', 'db', '--timeout', '0']);
    expect([code, err]).toEqual([1, expect.stringContaining('has not let go yet')]);
  });
});

describe('handover', () => {
  it('makes the leader hand over to the candidate that is named, past those before it', async () => {
    const first = await desk.leads('web-1');
    first.waitUntil(first.ended);
    await desk.waits('web-2');
    await desk.waits('web-3');
    expect(await desk.ask(['handover', 'db', '--to', 'web-3'])).toEqual({
      code: 0,
      out: '"web-1" is asked to hand term 1 over to "web-3"\n"web-3" leads in term 2\n',
      err: '',
    });
    expect(await first.ended).toMatchObject({ reason: 'handover', lost: false });
  });

  it('to the leader itself is done already', async () => {
    await desk.leads('web-1');
    expect(await desk.ask(['handover', 'db', '--to', 'web-1'])).toMatchObject({ code: 0, out: '"web-1" leads already, in term 1\n' });
  });

  it('to nobody is refused, and asks nothing', async () => {
    const first = await desk.leads('web-1');
    expect(await desk.ask(['handover', 'db', '--to', 'web-9'])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('"web-9" is no candidate'),
    });
    expect(first.isValid()).toBe(true);
  });
});

describe('lower-term-unsafely', () => {
  it('replaces the last term by a lower one, deposes the leader, and names the fences', async () => {
    const first = await desk.leads('web-1');
    await first.resign();
    const second = await desk.leads('web-2');
    second.waitUntil(second.ended);
    expect(await desk.ask(['lower-term-unsafely', 'db', '--from', '2', '--to', '1'])).toEqual({
      code: 0,
      out:
        'the last term of "db" was 2, and is 1: the next leader has term 2\n' +
        'reset each fence that has seen a term above 1: until then it refuses the new leaders\n',
      err: '',
    });
    expect(await second.ended).toMatchObject({ reason: 'recordDeleted' });
    await second.released;
    expect((await desk.leads('web-3')).term).toBe(2n);
  });

  it('does nothing where another is the last term', async () => {
    const first = await desk.leads('web-1');
    expect(await desk.ask(['lower-term-unsafely', 'db', '--from', '2', '--to', '1'])).toEqual({
      code: 1,
      out: '',
      err: 'incumbent: 2 is not the last term of "db": the last term is 1; nothing was done\n',
    });
    expect(first.isValid()).toBe(true);
  });

  it('does nothing where nobody has led', async () => {
    expect(await desk.ask(['lower-term-unsafely', 'db', '--from', '2', '--to', '1'])).toMatchObject({
      code: 1,
      err: 'incumbent: 2 is not the last term of "db": nobody has led yet; nothing was done\n',
    });
  });

  it.each([
    [['--from', '5', '--to', '5'], 'to is 5n'],
    [['--from', '5', '--to', '0'], '--to is a string of 1 characters'],
    [['--from', 'x', '--to', '1'], '--from is a string of 1 characters'],
    [['--from', '9223372036854775807', '--to', '2305843009213693953'], 'from 1n to 2n ** 61n'],
    [['--from', '5'], '--to <term>'],
    [['--to', '5'], '--from <term>'],
  ])('is refused with %j', async (options, message) => {
    expect(await desk.ask(['lower-term-unsafely', 'db', ...options])).toMatchObject({ code: 2, err: expect.stringContaining(message) });
  });
});

describe('doctor', () => {
  it('tries every kind of call, and leaves nothing', async () => {
    const { code, out } = await desk.ask(['doctor', '--json', '--ttl', '5s']);
    const found = lines(out).map((line): { readonly what: string; readonly level: string } => JSON.parse(line));
    expect(code).toBe(0);
    expect(found.filter(({ level }) => level !== 'ok')).toEqual([]);
    expect(found.map(({ what }) => what)).toContain('revoke: its keys go with it');
    expect((await desk.ask(['status'])).err).toBe('there has been no election in this namespace\n');
  });

  it('fails where an election holds what nobody of ours wrote', async () => {
    const member = await desk.member('intruder');
    await member.election('db').campaign();
    const { openMemory } = await import('@incumbent/memory');
    const store = await openMemory(`memory:${desk.name}`);
    const key = 'elections/db/term';
    const entry = await store.read(key, { timeoutMs: 1_000 });
    await store.compareAndSwap([{ key, expect: entry?.revision ?? null, put: new TextEncoder().encode('hello') }], { timeoutMs: 1_000 });
    const { code, out } = await desk.ask(['doctor']);
    expect([code, out]).toEqual([1, expect.stringContaining('FOREIGN_DATA')]);
    await store.close();
  });

  it('refuses a ttl that the store does not have', async () => {
    expect(await desk.ask(['doctor', '--ttl', '48h'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--ttl 48h is not possible'),
    });
  });
});

describe('colours', () => {
  const ESCAPE = '\u001b[';

  it('are for terminals alone, and for none with NO_COLOR', async () => {
    await desk.leads('web-1');
    const shown = async (tty: boolean, env: Record<string, string> = {}): Promise<boolean> =>
      (await desk.ask(['status'], { tty, env })).out.includes(ESCAPE);
    expect([await shown(true), await shown(false), await shown(true, { NO_COLOR: '1' }), await shown(true, { NO_COLOR: '' })]).toEqual([
      true,
      false,
      false,
      true,
    ]);
    expect(await shown(true, { TERM: 'dumb' })).toBe(false);
  });
});

describe('help', () => {
  it.each([
    [''],
    ['run'],
    ['leader'],
    ['watch'],
    ['candidates'],
    ['status'],
    ['resign'],
    ['handover'],
    ['lower-term-unsafely'],
    ['doctor'],
  ])('of %j', async (verb) => {
    const { code, out } = await desk.ask(verb === '' ? ['--help'] : [verb, '--help']);
    expect(code).toBe(0);
    await expect(out).toMatchFileSnapshot(`help/${verb === '' ? 'incumbent' : verb}.txt`);
  });
});
