import { stripVTControlCharacters } from 'node:util';

import { isIncumbentError, openStore } from 'incumbent';
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

describe('leader', () => {
  it('prints who leads, the term and the published value', async () => {
    await console.leads('web-1', 'db', { url: 'http://a' });
    expect(await console.run(['leader', 'db'])).toEqual({ code: 0, out: 'web-1  term 1  {"url":"http://a"}\n', err: '' });
    const { code, out } = await console.run(['leader', 'db', '--json']);
    expect([code, JSON.parse(out)]).toMatchObject([
      0,
      { type: 'election', state: 'leader', term: '1', leader: { memberId: 'web-1', value: { url: 'http://a' } } },
    ]);
  });

  it('exits with 1 if nobody leads, and prints that to standard error, or a null leader as JSON', async () => {
    const err = 'nobody leads "db", and nobody ever has: there has been no other election in this store\n';
    expect(await console.run(['leader', 'db'])).toEqual({ code: 1, out: '', err });
    await (await console.leads('web-1')).resign();
    expect(await console.run(['leader', 'db'])).toMatchObject({ code: 1, err: 'nobody leads "db" (the last term was 1)\n' });
    const { code, out } = await console.run(['leader', 'db', '--json']);
    expect([code, JSON.parse(out)]).toEqual([
      1,
      { type: 'election', election: 'db', state: 'vacant', term: '1', reason: 'resigned', stopping: false },
    ]);
  });
});

describe('an election that nobody has ever led', () => {
  const hint = 'this store has the elections e1, e2, e3, e4, e5, and 1 more\n';
  const vacant = `nobody leads "db", and nobody ever has: ${hint}`;

  it.each([
    [['leader', 'db'], 1, vacant],
    [['watch', 'db'], 0, vacant],
    [['watch', 'db', '--json'], 0, vacant],
    [['candidates', 'db'], 1, `nobody is a candidate of "db": ${hint}`],
  ])('may have another name: %j names the elections that there are', async (line, code, err) => {
    for (const name of ['e1', 'e2', 'e3', 'e4', 'e5', 'e6']) await console.leads(`of-${name}`, name);
    expect(await console.run(line, { maxLines: 1 })).toMatchObject({ code, err });
  });

  it('may be in another namespace, which the message names', async () => {
    const { err } = await console.run(['leader', 'db'], { env: { INCUMBENT_STORE: `memory:${console.name}/my-app` } });
    expect(err).toBe('nobody leads "db", and nobody ever has: there has been no other election in the namespace "my-app"\n');
  });
});

describe('candidates', () => {
  it('are listed in the order in which they would lead', async () => {
    await console.leads('web-1', 'db', 1);
    await console.waits('web-2');
    const { code, out } = await console.run(['candidates', 'db']);
    expect([code, lines(out).map((line) => line.split(/ +/).slice(0, 3))]).toEqual([
      0,
      [
        ['#', 'MEMBER', 'STATE'],
        ['0', 'web-1', 'leads'],
        ['1', 'web-2', 'waits'],
      ],
    ]);
    const json = lines((await console.run(['candidates', 'db', '--json'])).out).map((line): unknown => JSON.parse(line));
    expect(json).toMatchObject([
      { position: 0, memberId: 'web-1', state: 'leads', value: 1, succession: 'fifo' },
      { position: 1, memberId: 'web-2', state: 'waits' },
    ]);
  });
});

describe('status', () => {
  it('lists every election of the namespace, or those named', async () => {
    await console.leads('web-1', 'db');
    await console.waits('web-2', 'db');
    await (await console.leads('web-3', 'cron')).resign();
    expect(lines((await console.run(['status'])).out)).toEqual([
      'ELECTION  LEADER  TERM  CANDIDATES  STATE',
      'cron      -       1     0           vacant: resigned',
      'db        web-1   1     2           led',
    ]);
    expect(lines((await console.run(['status', 'db', 'none'])).out)).toEqual([
      'ELECTION  LEADER  TERM  CANDIDATES  STATE',
      'db        web-1   1     2           led',
      'none      -       -     0           vacant: nobody has led yet',
    ]);
    const json = lines((await console.run(['status', '--json'])).out).map((line): unknown => JSON.parse(line));
    expect(json).toMatchObject([
      { election: 'cron', state: 'vacant', reason: 'resigned' },
      { election: 'db', state: 'leader', term: '1', leader: { memberId: 'web-1' }, candidates: [{}, {}] },
    ]);
  });

  it('shows that a leader is stepping down while its work has not stopped', async () => {
    const { promise: never } = Promise.withResolvers();
    (await console.leads('web-1')).waitUntil(never);
    expect(await console.run(['resign', 'db', '--timeout', '0'])).toMatchObject({ code: 1 });
    expect(lines((await console.run(['status'])).out)[1]).toBe('db        web-1   1     1           led: the leader is stepping down');
    expect(JSON.parse((await console.run(['candidates', 'db', '--json'])).out)).toMatchObject({ memberId: 'web-1', state: 'stopping' });
  });
});

describe('data of other programs', () => {
  it('under a name that no election can have is not listed', async () => {
    await console.leads('web-1', 'db');
    await console.write('elections/~x/leader', 'hello');
    expect(await console.run(['status'])).toMatchObject({ code: 0, out: expect.not.stringContaining('~x') });
  });

  it('in place of a record is reported, and the other elections are listed', async () => {
    await console.leads('web-1', 'db');
    await console.write('elections/cron/leader', 'hello');
    const { code, out } = await console.run(['status']);
    expect([code, lines(out)]).toEqual([
      3,
      [
        'ELECTION  LEADER  TERM  CANDIDATES  STATE',
        expect.stringMatching(/^cron {6}\? {7}\? {5}\? {11}cannot be read: FOREIGN_DATA: /),
        'db        web-1   1     1           led',
      ],
    ]);
    const json = lines((await console.run(['status', '--json'])).out).map((line): unknown => JSON.parse(line));
    expect(json).toMatchObject([{ election: 'cron', state: 'unreadable', error: { code: 'FOREIGN_DATA' } }, { election: 'db' }]);
  });

  const newer = JSON.stringify({ v: 2, term: '7', memberId: 'web-9', incarnation: 'x', entry: 'y' });

  it.each([
    ['text', 'leader', 'hello', 'FOREIGN_DATA'],
    ['garbage bytes', 'leader', Uint8Array.of(0xff, 0x00, 0xc3, 0x28), 'FOREIGN_DATA'],
    ['nothing', 'term', '', 'FOREIGN_DATA'],
    ['garbage bytes', 'term', Uint8Array.of(0xff, 0x00, 0xc3, 0x28), 'FOREIGN_DATA'],
    ['a record without its fields', 'term', '{"v":1}', 'FOREIGN_DATA'],
    ['a record of a newer format', 'leader', newer, 'NEWER_FORMAT'],
    ['a record of a newer format', 'term', newer, 'NEWER_FORMAT'],
    ['a value that is bytes', 'leader', newer.replace('"v":2', '"v":1,"bytes":"AAAA"'), 'FOREIGN_DATA'],
  ])('%s in place of the %s is one row of status', async (_, key, data, code) => {
    await console.leads('web-1', 'db');
    await console.write(`elections/cron/${key}`, data);
    const result = await console.run(['status']);
    expect([result.code, lines(result.out)]).toEqual([
      3,
      [
        'ELECTION  LEADER  TERM  CANDIDATES  STATE',
        expect.stringMatching(new RegExp(`^cron {6}\\? {7}\\? {5}\\? {11}cannot be read: ${code}: `)),
        'db        web-1   1     1           led',
      ],
    ]);
  });

  it.each([true, false])('is printed without control characters, on a terminal or not (%s)', async (tty) => {
    const value = 'a\u001b[2Jb\u009b2Jc\u007fd\u202ee\u2028f\rg\nh';
    const leadership = await console.leads('web-1', 'db');
    await leadership.publish(value);
    for (const args of [
      ['leader', 'db'],
      ['candidates', 'db'],
      ['leader', 'db', '--json'],
    ]) {
      const { out } = await console.run(args, { tty });
      const ours = ['\u001b[2m', '\u001b[22m', '\n'];
      const shown = ours.reduce((text, code) => text.replaceAll(code, ''), out);
      expect(shown).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u);
      if (args.includes('--json')) expect(JSON.parse(out)).toMatchObject({ leader: { value } });
    }
    const odd = await console.run(['leader', 'd\u001b[2Jb'], { tty });
    expect(odd).toMatchObject({ code: 2, err: expect.not.stringContaining('\u001b[2J') });
  });
});

describe('resign', () => {
  it('makes the present leader step down, and prints who follows', async () => {
    const first = await console.leads('web-1');
    first.waitUntil(first.ended);
    await console.waits('web-2');
    expect(await console.run(['resign', 'db'])).toEqual({
      code: 0,
      out: '"web-1" is told to step down from term 1\n"web-2" leads in term 2\n',
      err: '',
    });
    expect(await first.ended).toMatchObject({ reason: 'steppedDown' });
    expect(lines((await console.run(['status'])).out)[1]).toMatch(/^db {8}web-2 {3}2 {5}\d {11}led \(term 1 of web-1: steppedDown\)$/);
    const { out } = await console.run(['status', '--json']);
    expect(JSON.parse(out)).toMatchObject({ previous: { term: '1', memberId: 'web-1', reason: 'steppedDown' } });
  });

  it('does nothing if the leader has another term than --term', async () => {
    const first = await console.leads('web-1');
    const { code, out, err } = await console.run(['resign', 'db', '--term', '7']);
    expect([code, out, err]).toEqual([1, '', 'incumbent: "web-1" leads "db" in term 1, not 7: nothing was done\n']);
    expect(first.isValid()).toBe(true);
  });

  it('reports that the term has not ended in time', async () => {
    const first = await console.leads('web-1');
    first.waitUntil(new Promise(() => {}));
    const { code, err } = await console.run(['resign', 'db', '--timeout', '0']);
    expect([code, err]).toEqual([1, expect.stringContaining('nobody has followed "web-1" yet')]);
  });
});

describe('handover', () => {
  it('makes the leader hand over to the named candidate, past those before it', async () => {
    const first = await console.leads('web-1');
    first.waitUntil(first.ended);
    await console.waits('web-2');
    await console.waits('web-3');
    expect(await console.run(['handover', 'db', '--to', 'web-3'])).toEqual({
      code: 0,
      out: '"web-1" is asked to hand term 1 over to "web-3"\n"web-3" leads in term 2\n',
      err: '',
    });
    expect(await first.ended).toMatchObject({ reason: 'handover', lost: false });
  });

  it('that has not happened in time may still happen, and the message says so', async () => {
    const first = await console.leads('web-1');
    const work = Promise.withResolvers<void>();
    first.waitUntil(work.promise);
    await console.waits('web-2');
    expect(await console.run(['handover', 'db', '--to', 'web-2', '--timeout', '1ms'])).toMatchObject({
      code: 1,
      err:
        'incumbent: "web-1" has not handed over within 1ms; ' +
        'the request is withdrawn, but a leader that had begun to stop its work still hands over\n',
    });
    work.resolve();
  });

  it('to the leader itself succeeds and changes nothing', async () => {
    await console.leads('web-1');
    expect(await console.run(['handover', 'db', '--to', 'web-1'])).toMatchObject({ code: 0, out: '"web-1" leads already, in term 1\n' });
  });

  it('to a member that is no candidate is rejected', async () => {
    const first = await console.leads('web-1');
    expect(await console.run(['handover', 'db', '--to', 'web-9'])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('"web-9" is no candidate of "db" that could be handed to: there is no other candidate'),
    });
    expect(first.isValid()).toBe(true);
  });

  it('to a member that is no candidate names the first five that are', async () => {
    await console.leads('web-1');
    for (let i = 2; i <= 8; i += 1) await console.waits(`web-${i}`);
    const { err } = await console.run(['handover', 'db', '--to', 'web-9']);
    expect(err).toContain('that could be handed to: the other candidates are "web-2", "web-3", "web-4", "web-5", "web-6" and 2 more');
  });
});

describe('lower-term-unsafely', () => {
  it('replaces the last term, makes the leader step down, and reminds of the fences', async () => {
    const first = await console.leads('web-1');
    await first.resign();
    const second = await console.leads('web-2');
    second.waitUntil(second.ended);
    expect(await console.run(['lower-term-unsafely', 'db', '--from', '2', '--to', '1'])).toEqual({
      code: 0,
      out:
        'the last term of "db" was 2, and is 1 now: the next leader has term 2\n' +
        'reset every fence that has seen a term above 1: until then it rejects the new leaders\n',
      err: '',
    });
    expect(await second.ended).toMatchObject({ reason: 'recordDeleted' });
    await second.released;
    expect((await console.leads('web-3')).term).toBe(2n);
  });

  it('does nothing if --from is not the last term', async () => {
    const first = await console.leads('web-1');
    expect(await console.run(['lower-term-unsafely', 'db', '--from', '2', '--to', '1'])).toEqual({
      code: 1,
      out: '',
      err: 'incumbent: 2 is not the last term of "db": the last term is 1; nothing was done\n',
    });
    expect(first.isValid()).toBe(true);
  });

  it('does nothing if nobody has led yet', async () => {
    expect(await console.run(['lower-term-unsafely', 'db', '--from', '2', '--to', '1'])).toMatchObject({
      code: 1,
      err: 'incumbent: 2 is not the last term of "db": nobody has led yet; nothing was done\n',
    });
  });

  it.each([
    [['--from', '5', '--to', '5'], '--to is 5: it must be below --from, which is 5, and at most 2305843009213693952'],
    [['--from', '5', '--to', '0'], '--to is a string of 1 characters'],
    [['--from', 'x', '--to', '1'], '--from is a string of 1 characters'],
    [['--from', '9223372036854775807', '--to', '2305843009213693953'], '--to is 2305843009213693953: it must be below'],
    [['--from', '5'], '--to <term>'],
    [['--to', '5'], '--from <term>'],
  ])('is rejected with %j', async (options, message) => {
    expect(await console.run(['lower-term-unsafely', 'db', ...options])).toMatchObject({ code: 2, err: expect.stringContaining(message) });
  });
});

describe('colours', () => {
  const ESCAPE = '\u001b[';

  it('are used on terminals only, and not with NO_COLOR', async () => {
    await console.leads('web-1');
    const shown = async (tty: boolean, env: Record<string, string> = {}): Promise<boolean> =>
      (await console.run(['status'], { tty, env })).out.includes(ESCAPE);
    expect([await shown(true), await shown(false), await shown(true, { NO_COLOR: '1' }), await shown(true, { NO_COLOR: '' })]).toEqual([
      true,
      false,
      false,
      true,
    ]);
    expect(await shown(true, { TERM: 'dumb' })).toBe(false);
  });

  it.each([
    ['the help', ['--help'], 'out', '\u001b[1mUsage:\u001b[22m'],
    ['the help of a command', ['status', '--help'], 'out', '\u001b[1mOptions:\u001b[22m'],
    ['an error of the parser', ['status', '--jsn'], 'err', '\u001b[31mincumbent:\u001b[39m'],
  ] as const)('change nothing else in %s', async (_, args, stream, coloured) => {
    const shown = (await console.run(args, { tty: true }))[stream];
    expect(shown).toContain(coloured);
    expect(stripVTControlCharacters(shown)).toBe((await console.run(args))[stream]);
  });
});

describe('postgres schema', () => {
  it('prints the statements for the schema, and for a role', async () => {
    const plain = await console.run(['postgres', 'schema']);
    expect(plain).toMatchObject({ code: 0, out: expect.stringContaining('CREATE SCHEMA IF NOT EXISTS "incumbent";') });
    expect(plain.out).not.toContain('GRANT');
    const other = await console.run(['postgres', 'schema', '--schema', 'locks', '--grant-to', 'my "app"']);
    expect(other.out).toContain('CREATE TABLE IF NOT EXISTS "locks".keys');
    expect(other.out).toContain('GRANT USAGE ON SCHEMA "locks" TO "my ""app""";');
    expect(other.out).not.toContain('@schema');
  });

  it.each([[['postgres']], [['postgres', 'tables']], [['postgres', 'schema', '--schema', 'Locks']]])('refuses %j', async (args) => {
    expect(await console.run(args)).toMatchObject({ code: 2, out: '' });
  });
});

describe('help', () => {
  it.each([
    [''],
    ['run'],
    ['serve'],
    ['ui'],
    ['leader'],
    ['watch'],
    ['candidates'],
    ['status'],
    ['groups'],
    ['resign'],
    ['handover'],
    ['lower-term-unsafely'],
    ['doctor'],
    ['limits'],
    ['postgres'],
    ['completion'],
  ])('of %j', async (command) => {
    const { code, out } = await console.run(command === '' ? ['--help'] : [command, '--help']);
    expect(code).toBe(0);
    await expect(out).toMatchFileSnapshot(`help/${command === '' ? 'incumbent' : command}.txt`);
  });

  it('lists the schemes of all stores, but for another spelling, and a store that only its own process has', async () => {
    const { out } = await console.run(['--help']);
    const unknown: unknown = await openStore('nowhere://host').catch((error: unknown) => error);
    const known = isIncumbentError(unknown, 'UNKNOWN_SCHEME') ? unknown.details.known : [];
    const missing = known.filter((scheme) => !out.includes(` ${scheme}:`));
    expect(missing).toEqual(['memory', 'postgresql', 'rediss+sentinel', 'valkeys+sentinel']);
  });
});
