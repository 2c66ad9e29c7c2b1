import { resolve } from 'node:path';
import { openSqlite } from '@incumbent/sqlite';
import { describe, expect, it } from 'vitest';

import { readOptions } from '../src/options.ts';

/** What the error of a URL of another form says. */
const FORM = 'sqlite:./file.db or sqlite:/folder/file.db';

describe('a URL', () => {
  it.each([
    ['of a file in the current folder', 'sqlite:state.db', resolve('state.db')],
    ['of a relative path', 'sqlite:./data/state.db', resolve('data/state.db')],
    ['of a path that goes up', 'sqlite:../state.db', resolve('../state.db')],
    ['of an absolute path', 'sqlite:/var/lib/app/state.db', '/var/lib/app/state.db'],
    ['of an absolute path after an empty host', 'sqlite:///var/lib/app/state.db', '/var/lib/app/state.db'],
    ['with spaces, percent signs and letters that are encoded', 'sqlite:/a%20b/100%25/%C3%A9.db', '/a b/100%/é.db'],
    ['with a question mark and a hash in the path, encoded', 'sqlite:/a%3Fb%23c.db', '/a?b#c.db'],
    ['with spaces and letters that are not encoded', 'sqlite:/a b/é.db', '/a b/é.db'],
    ['with a plus, which is a plus', 'sqlite:/a+b.db', '/a+b.db'],
    ['with a slash that is encoded, which is a slash', 'sqlite:/a%2Fb.db', '/a/b.db'],
  ])('%s', (_, url, file) => {
    expect(readOptions(url).file).toBe(file);
  });

  it('names namespace, time and whether the file was moved', () => {
    const url = 'sqlite:/state.db?namespace=team/app&connectTimeoutMs=700&moved=true';
    expect(readOptions(url)).toMatchObject({ file: '/state.db', namespace: 'team/app', connectTimeoutMs: 700, moved: true });
    expect(readOptions('sqlite:/state.db?namespace=team%2Fapp&moved=false')).toMatchObject({ namespace: 'team/app', moved: false });
  });

  it('has defaults for everything except the file', () => {
    for (const url of ['sqlite:/state.db', 'sqlite:/state.db?'])
      expect(readOptions(url)).toEqual({
        file: '/state.db',
        namespace: 'incumbent',
        connectTimeoutMs: 5_000,
        moved: false,
        endsWithProcess: true,
      });
  });

  it.each([
    ['another scheme', 'etcd:/state.db', FORM],
    ['no scheme', '/state.db', FORM],
    ['a host', 'sqlite://host/state.db', FORM],
    ['a relative path after two slashes', 'sqlite://state.db', FORM],
    ['two slashes after an empty host', 'sqlite:////state.db', FORM],
    ['a fragment', 'sqlite:/state.db#now', FORM],
    ['no path', 'sqlite:', 'file is "": it must be the path of a file'],
    ['no path but options', 'sqlite:?moved=true', 'file is "": it must be the path of a file'],
    ['memory', 'sqlite::memory:', 'file is ":memory:": it must be a file on disk; the store "memory:" is in memory'],
    ['a NUL in the path', 'sqlite:/state%00.db', 'the path of a file'],
    ['a bad percent', 'sqlite:/100%.db', 'url is "/100%.db": it must be percent-encoded: a % in a path is %25'],
    [
      'an unknown parameter',
      'sqlite:/state.db?namespce=a',
      'url parameter 1 is a string of 8 characters: it must be one of namespace, connectTimeoutMs, moved, endsWithProcess',
    ],
    ['a parameter twice', 'sqlite:/state.db?namespace=a&namespace=b', 'namespace is an array of 2: it must be given once'],
    ['the file as a parameter', 'sqlite:/state.db?file=b', 'url parameter 1 is a string of 4 characters: it must be one of namespace'],
    ['a namespace that is none', 'sqlite:/state.db?namespace=a%20b', 'namespace is "a b": it must be names of A-Z a-z 0-9 . _ ~ -'],
    ['an empty namespace', 'sqlite:/state.db?namespace=', 'namespace is ""'],
    ['a word for a number', 'sqlite:/state.db?connectTimeoutMs=soon', 'connectTimeoutMs is a string of 4 characters: it must be a number'],
    ['an empty number', 'sqlite:/state.db?connectTimeoutMs=', 'connectTimeoutMs is a string of 0 characters: it must be a number'],
    ['too little time', 'sqlite:/state.db?connectTimeoutMs=99', 'connectTimeoutMs is 99: it must be a number from 100 to 600000'],
    ['neither true nor false', 'sqlite:/state.db?moved=yes', 'moved is a string of 3 characters: it must be true or false'],
  ])('is refused with %s', async (_, url, message) => {
    const opened = openSqlite(url);
    await expect(opened).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    await expect(opened).rejects.toThrow(message);
  });
});

describe('options', () => {
  const file = '/state.db';

  it('are kept as given; the file is relative to the current folder', () => {
    expect(readOptions({ file: 'a%20b.db', namespace: 'a/b', connectTimeoutMs: 100, moved: true })).toEqual({
      file: resolve('a%20b.db'),
      namespace: 'a/b',
      connectTimeoutMs: 100,
      moved: true,
      endsWithProcess: true,
    });
    expect(readOptions('sqlite:/state.db?endsWithProcess=false').endsWithProcess).toBe(false);
  });

  it.each([
    ['no options', undefined, 'sqlite is undefined: it must be a URL or an object of options'],
    ['null', null, 'sqlite is null: it must be a URL or an object of options'],
    ['no file', {}, 'file is undefined: it must be the path of a file'],
    ['a file that is no string', { file: 7 }, 'file is 7: it must be the path of a file'],
    ['a URL as the file', { file: new URL('file:///state.db') }, 'file is an object: it must be the path of a file'],
    ['an unknown option', { file, namespce: 'x' }, 'the options are file, namespace, connectTimeoutMs, moved'],
    ['a namespace that is none', { file, namespace: '/a' }, 'namespace is "/a"'],
    ['a namespace that ends in a slash', { file, namespace: 'a/' }, 'namespace is "a/"'],
    ['too little time', { file, connectTimeoutMs: 99 }, 'connectTimeoutMs is 99: it must be a number from 100 to 600000'],
    ['too much time', { file, connectTimeoutMs: 600_001 }, 'connectTimeoutMs is 600001: it must be a number from 100 to 600000'],
    ['no time', { file, connectTimeoutMs: Number.NaN }, 'connectTimeoutMs is NaN: it must be a number from 100 to 600000'],
    ['a number for endsWithProcess', { file, endsWithProcess: 0 }, 'endsWithProcess is 0: it must be true or false'],
    ['a word for moved', { file, moved: 'true' }, 'moved is a string of 4 characters: it must be true or false'],
  ])('are refused with %s', async (_, options, message) => {
    // As a caller without types could.
    const opened = openSqlite(options as never);
    await expect(opened).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    await expect(opened).rejects.toThrow(message);
  });
});
