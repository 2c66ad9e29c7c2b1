/** What may lie in the place of the file, before a store opens it and while it is open. */

import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Recorder } from '@incumbent/test-support/recorder';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { Connection } from '../src/schema/connection.ts';
import { bytes, CALL, connectFile, LEASE_CALL, Rig, textOf } from './rig.ts';

/** Long, for a busy machine. */
const SOON = { timeout: 5_000 };

let rig: Rig;
beforeEach(() => {
  rig = new Rig();
});
afterEach(() => rig[Symbol.dispose]());

/** Creates a store, and changes its file with another program's SQL. */
async function changeStore(sql: string): Promise<void> {
  await (await rig.open()).close();
  const other = rig.raw();
  other.exec(sql);
  other.close();
}

async function refusal(code: string, message: string): Promise<void> {
  const opening = rig.open();
  await expect(opening).rejects.toMatchObject({ name: 'StoreError', code, outcome: 'refused' });
  await expect(opening).rejects.toThrow(message);
}

/** All that lies in the folder, by name and content. */
function folder(): Readonly<Record<string, string>> {
  const there = rig.files.filter((file) => existsSync(file));
  return Object.fromEntries(there.map((file) => [file, readFileSync(file, 'latin1')]));
}

describe('a file that is no store', () => {
  it.each([
    ['garbage', Buffer.alloc(8_192, 'garbage')],
    ['a few bytes', Buffer.from('hello')],
    ['a text longer than a header', Buffer.alloc(120, 'hello ')],
    ['a header of SQLite, and nothing sensible after it', Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(4_080, 0xff)])],
  ])('%s, is refused and left as it was', async (_, content) => {
    writeFileSync(rig.file, content);
    await refusal('UNSUPPORTED', 'it is not a SQLite database');
    expect(folder()).toEqual({ [rig.file]: content.toString('latin1') });
  });

  it.each(['delete', 'wal'])('another application’s in journal mode %s is refused and left as it was', async (mode) => {
    const other = rig.raw();
    other.exec(`PRAGMA journal_mode = ${mode}; CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)`);
    other.close();
    const before = folder();
    await refusal('UNSUPPORTED', `${rig.file} is another application's database: give the election a file of its own`);
    expect(folder()).toEqual(before);
    expect([rig.ask('PRAGMA journal_mode'), rig.ask('SELECT a FROM theirs')]).toEqual([mode, 1]);
  });

  it('another application’s that is open meanwhile keeps its log', async () => {
    const other = rig.raw();
    other.exec('PRAGMA journal_mode = WAL; CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)');
    const [before] = [folder()];
    await refusal('UNSUPPORTED', 'another application');
    const [file = '', log = ''] = rig.files;
    expect([folder()[file], folder()[log]]).toEqual([before[file], before[log]]);
    expect(other.prepare('SELECT a FROM theirs').get()).toEqual({ a: 1 });
  });

  it('one that has no tables and says that it is another application’s is refused', async () => {
    rig.raw().exec('PRAGMA application_id = 7');
    await refusal('UNSUPPORTED', "another application's");
  });

  it('a store of a later format is refused, with both formats, and left as it was', async () => {
    await changeStore('PRAGMA user_version = 3');
    const before = folder();
    await refusal('UNSUPPORTED', `${rig.file} is of format 3, and this package knows format 2`);
    expect(folder()).toEqual(before);
  });

  it('an empty file becomes one', async () => {
    writeFileSync(rig.file, '');
    const store = await rig.open();
    await store.compareAndSwap([{ key: 'a', expect: null, put: bytes('1') }], CALL);
    expect(textOf(await store.read('a', CALL))).toBe('1');
  });
});

describe('a damaged file', () => {
  /** Keys on many pages, all of them in the file itself. */
  async function filled(): Promise<void> {
    const store = await rig.open();
    for (let index = 0; index < 60; index += 1)
      await store.compareAndSwap([{ key: `k/${index}`, expect: null, put: new Uint8Array(1_000) }], CALL);
    await store.close();
    expect(existsSync(rig.files[1] ?? '')).toBe(false);
  }

  function damage(page: number): void {
    const content = readFileSync(rig.file);
    content.fill(0xee, (page - 1) * 4_096, page * 4_096);
    writeFileSync(rig.file, content);
  }

  it('in the middle: a call that reads a damaged page reports it and what to do; no key appears absent', async () => {
    await filled();
    const pages = statSync(rig.file).size / 4_096;
    damage(pages - 3);
    const store = await rig.open();
    const results: string[] = [];
    for (let index = 0; index < 60; index += 1) {
      const read = store.read(`k/${index}`, CALL).then((entry) => (entry === undefined ? 'absent' : 'there'));
      results.push(await read.catch((error: unknown) => String(error)));
    }
    expect(results).toContain('there');
    expect(results).not.toContain('absent');
    const damaged = results.find((one) => one !== 'there') ?? expect.unreachable('nothing met the damage');
    expect(damaged).toContain(
      `${rig.file}: it is damaged: restore it, or remove it and its -wal and -shm (the terms then start again from 1: set minTerm)`,
    );
    await expect(store.list('k', CALL)).rejects.toMatchObject({ code: 'CORRUPT', outcome: 'refused' });
  });

  it('ends the watches that read a damaged page with that error', async () => {
    await filled();
    const store = await rig.open();
    const watch = new Recorder((options) => store.watchList('k', options));
    await expect.poll(() => watch.states.length, SOON).toBe(1);
    await store.close();
    damage(statSync(rig.file).size / 4_096 - 3);
    const again = await rig.open();
    const late = new Recorder((options) => again.watchList('k', options));
    expect(await late.ended).toMatchObject({ code: 'CORRUPT', outcome: 'refused' });
    expect([late.states, late.stale]).toEqual([[], []]);
    await watch.ended;
  });

  it('at its beginning is reported at opening', async () => {
    await filled();
    damage(Number(rig.ask(`SELECT rootpage FROM sqlite_schema WHERE name = 'leases'`)));
    await refusal('CORRUPT', 'it is damaged');
  });

  it('that was cut short is reported', async () => {
    await filled();
    truncateSync(rig.file, 4_096 * 3);
    await refusal('CORRUPT', 'it is damaged');
  });

  it('without its tables is reported, and the tables are not created again', async () => {
    await changeStore('DROP TABLE leases');
    await refusal('STORE_FAILED', 'no such table: leases');
  });

  it('that holds what the schema forbids is damaged, and is not read as something else', async () => {
    await (await rig.open()).close();
    const made = rig.raw().prepare(`SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL`).all();
    const file = join(rig.folder, 'loose.db');
    const loose = rig.raw(file);
    for (const { sql } of made) loose.exec(String(sql).replace(/ STRICT,?/, ''));
    const ids = ['application_id', 'user_version'].map((name) => `PRAGMA ${name} = ${String(rig.ask(`PRAGMA ${name}`))}`);
    loose.exec(
      `${ids.join(';')}; ATTACH '${rig.file}' AS made; INSERT INTO store SELECT * FROM made.store; INSERT INTO keys VALUES ('incumbent/a', 'text', 1, 1, NULL)`,
    );
    const store = await rig.open({ file });
    await expect(store.read('a', CALL)).rejects.toMatchObject({ code: 'CORRUPT', outcome: 'refused' });
    await expect(store.read('a', CALL)).rejects.toThrow('the column value does not hold bytes');
  });
});

describe('a log that a crashed writer left', () => {
  /** The file and its log, as they are on the disk while a store uses them. */
  async function crashed(): Promise<string> {
    const store = await rig.open();
    for (const key of ['a', 'b', 'c']) await store.compareAndSwap([{ key, expect: null, put: bytes(key) }], CALL);
    const file = join(rig.folder, 'crashed.db');
    for (const end of ['', '-wal']) copyFileSync(rig.file + end, file + end);
    return file;
  }

  it('is read: nothing that was committed is lost', async () => {
    const file = await crashed();
    expect(statSync(file).size).toBeLessThan(statSync(`${file}-wal`).size);
    const store = await rig.open({ file });
    const found = await Promise.all(['a', 'b', 'c'].map((key) => store.read(key, CALL)));
    expect(found.map(textOf)).toEqual(['a', 'b', 'c']);
  });

  it('that ends inside a commit loses that whole commit, and no other', async () => {
    const file = await crashed();
    truncateSync(`${file}-wal`, statSync(`${file}-wal`).size - 100);
    const store = await rig.open({ file });
    const found = await Promise.all(['a', 'b', 'c'].map((key) => store.read(key, CALL)));
    expect(found.map(textOf)).toEqual(['a', 'b', undefined]);
    const swap = await store.compareAndSwap([{ key: 'c', expect: null, put: bytes('again') }], CALL);
    expect(swap.swapped).toBe(true);
  });

  it('goes when the last process closes the file in order', async () => {
    const [first, second] = [await rig.open(), await rig.open()];
    await first.compareAndSwap([{ key: 'a', expect: null, put: bytes('a') }], CALL);
    await first.close();
    expect(existsSync(`${rig.file}-wal`)).toBe(true);
    await second.close();
    expect(rig.files.map((file) => existsSync(file))).toEqual([true, false, false]);
  });
});

describe('a file that is removed or replaced while it is open', () => {
  const remove = (): void => {
    for (const file of rig.files) rmSync(file, { force: true });
  };

  /** A file of its own, closed in order, moved into the place of the one that is open. */
  async function replace(fill: (file: string) => Promise<void>): Promise<void> {
    const file = join(rig.folder, 'new.db');
    await fill(file);
    for (const log of rig.files.slice(1)) rmSync(log);
    renameSync(file, rig.file);
  }

  async function put(store: Awaited<ReturnType<Rig['open']>>, key: string, value: string, lease?: string): Promise<boolean> {
    const change = { key, expect: null, put: bytes(value), ...(lease === undefined ? {} : { lease }) };
    return (await store.compareAndSwap([change], CALL)).swapped;
  }

  it('is an empty store: the old leases and their keys are gone', async () => {
    const [one, two] = [await rig.open(), await rig.open()];
    const lease = await one.grantLease(60_000, LEASE_CALL);
    await put(one, 'leader', 'one', lease.id);
    remove();
    await expect(one.renewLease(lease.id, LEASE_CALL)).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
    await expect(put(one, 'leader', 'one', lease.id)).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
    await expect(one.enqueue('q', 'n', bytes(''), lease.id, CALL)).rejects.toMatchObject({ code: 'LEASE_EXPIRED' });
    expect(await two.read('leader', CALL)).toBeUndefined();
  });

  it('never has two writers: the other one sees what the first one writes to the new file', async () => {
    const [one, two] = [await rig.open(), await rig.open()];
    await put(one, 'leader', 'one');
    remove();
    expect(await put(two, 'leader', 'two')).toBe(true);
    expect(await put(one, 'leader', 'one')).toBe(false);
    expect(textOf(await one.read('leader', CALL))).toBe('two');
    expect(textOf(await (await rig.open()).read('leader', CALL))).toBe('two');
  });

  it('removed: its watches show the absence of their keys', async () => {
    const store = await rig.open();
    await put(store, 'a', 'old');
    const key = new Recorder((options) => store.watch('a', options));
    const list = new Recorder((options) => store.watchList('p', options));
    await expect.poll(() => textOf(key.latest), SOON).toBe('old');
    remove();
    await expect.poll(() => key.states.length, SOON).toBe(2);
    expect(key.latest).toBeUndefined();
    expect([key.stale, list.stale]).toEqual([[], []]);
  });

  /** A store with the keys `a` and `p/a`, a watch of `a`, and a watch of the list `p`. */
  async function openWatched() {
    const store = await rig.open();
    for (const key of ['a', 'p/a']) await put(store, key, 'old');
    const key = new Recorder((options) => store.watch('a', options));
    const list = new Recorder((options) => store.watchList('p', options));
    return { store, key, list };
  }

  it('replaced: its watches show the state of the new file', async () => {
    const { store, key, list } = await openWatched();
    await expect.poll(() => list.latest?.map(textOf), SOON).toEqual(['old']);
    await replace(async (file) => {
      const other = await rig.open({ file });
      for (const name of ['x', 'y', 'a', 'p/a']) await put(other, name, 'new');
      await other.close();
    });
    await expect.poll(() => [textOf(key.latest), list.latest?.map(textOf)], SOON).toEqual(['new', ['new']]);
    expect(textOf(await store.read('x', CALL))).toBe('new');
  });

  it('replaced by a changed copy with the same revisions: its watches show the state of the new file', async () => {
    const { store, key, list } = await openWatched();
    const gone = new Recorder((options) => store.watch('gone', options));
    await put(store, 'gone', 'old');
    const latest = (): unknown => [textOf(key.latest), list.latest?.map(textOf), textOf(gone.latest)];
    await expect.poll(latest, SOON).toEqual(['old', ['old'], 'old']);
    await replace(async (file) => {
      const old = rig.raw();
      old.prepare('VACUUM INTO ?').run(file);
      old.close();
      const copy = rig.raw(file);
      copy.exec(`UPDATE keys SET value = CAST('new' AS BLOB); DELETE FROM keys WHERE key LIKE '%/gone'`);
      copy.close();
    });
    await expect.poll(latest, SOON).toEqual(['new', ['new'], undefined]);
    expect(rig.ask(`SELECT max(revision) FROM keys`)).toBe(Number(list.latest?.[0]?.revision));
  });

  it.each([
    ['is replaced', true, true],
    ['is removed', true, false],
    ['was not there before, and is removed', false, false],
  ])(
    'that %s while it is being opened is never written to: the next call uses the file that is there then',
    async (_, wasThere, isReplaced) => {
      const file = join(rig.folder, 'new.db');
      const other = await rig.open({ file });
      await put(other, 'a', 'new');
      await other.close();
      if (wasThere) await (await rig.open()).close();
      let raced = false;
      const racing = {
        connect: (path: string): Connection => {
          const connection = connectFile(path);
          if (!raced) {
            raced = true;
            if (isReplaced) renameSync(file, rig.file);
            else rmSync(rig.file);
          }
          return connection;
        },
      };
      await expect(rig.open(racing)).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'notSent', details: { file: rig.file } });
      expect(existsSync(`${rig.file}-wal`)).toBe(false);
      expect(textOf(await (await rig.open(racing)).read('a', CALL))).toBe(isReplaced ? 'new' : undefined);
    },
  );

  it('replaced by another store, with its log left beside it, is not read together with that log', async () => {
    const store = await rig.open();
    await put(store, 'a', 'old');
    const file = join(rig.folder, 'new.db');
    const other = await rig.open({ file });
    await put(other, 'a', 'new');
    await other.close();
    renameSync(file, rig.file);
    await expect(store.read('a', CALL)).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'notSent' });
    rig.pass(999);
    await expect(store.read('a', CALL)).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'notSent' });
    rig.pass(1);
    await expect(store.read('a', CALL)).rejects.toMatchObject({ code: 'CORRUPT', outcome: 'refused' });
  });

  it('removed, and its log a moment later: a call between the two can be retried, and the watches continue', async () => {
    const { store, key } = await openWatched();
    await expect.poll(() => textOf(key.latest), SOON).toBe('old');
    for (const value of ['first', 'second']) {
      rmSync(rig.file);
      const call = store.read('a', CALL);
      await expect(call).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'notSent', details: { file: rig.file } });
      remove();
      expect(await store.read('a', CALL)).toBeUndefined();
      await expect.poll(() => key.latest, SOON).toBeUndefined();
      expect(await put(store, 'a', value)).toBe(true);
      await expect.poll(() => textOf(key.latest), SOON).toBe(value);
      // The second removal has a second of its own.
      rig.pass(2_000);
    }
    expect(key.stale).toEqual([]);
  });

  it('replaced by a file that is no store: calls are UNSUPPORTED until a store is there again', async () => {
    const store = await rig.open();
    await put(store, 'a', 'old');
    remove();
    writeFileSync(rig.file, Buffer.alloc(8_192, 'garbage'));
    await expect(store.read('a', CALL)).rejects.toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused' });
    await expect(store.read('a', CALL)).rejects.toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused' });
    remove();
    expect(await store.read('a', CALL)).toBeUndefined();
    expect(await put(store, 'a', 'new')).toBe(true);
  });

  it('removed with its folder: calls are UNREACHABLE', async () => {
    const store = await rig.open();
    await put(store, 'a', 'old');
    rmSync(rig.folder, { recursive: true });
    await expect(store.read('a', CALL)).rejects.toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent' });
  });
});
