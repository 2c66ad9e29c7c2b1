import { copyFile, type FileHandle, mkdir, mkdtemp, open, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryNetwork, PeerMember, quorum, voteFile, type Vote } from '../src/index.ts';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'incumbent-vote-'));
  path = join(folder, 'vote');
});
afterEach(() => rm(folder, { recursive: true }));

const voteOf = (term: bigint): Vote => ({ memberId: 'a', term, votedFor: term % 2n === 0n ? 'b' : undefined });

async function loaded(from: string = path): Promise<Vote | undefined> {
  const file = voteFile(from);
  try {
    return await file.load();
  } finally {
    await file.close();
  }
}

/** The bytes of the file after each vote that was saved. */
async function saved(...votes: readonly Vote[]): Promise<readonly Buffer[]> {
  const file = voteFile(path);
  await file.load();
  const bytes: Buffer[] = [];
  for (const vote of votes) {
    await file.save(vote);
    bytes.push(await readFile(path));
  }
  await file.close();
  return bytes;
}

/** Replaces the last vote in the file by this text, with a valid checksum. */
function withBody(file: Buffer, body: string): Buffer {
  const start = file.readBigUInt64BE(8) > file.readBigUInt64BE(4_104) ? 0 : 4_096;
  const slot = Buffer.concat([file.subarray(start, start + 16), Buffer.from([0, body.length]), Buffer.from(body)]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(slot));
  const copy = Buffer.from(file);
  Buffer.concat([slot, checksum]).copy(copy, start);
  return copy;
}

describe('a vote file', () => {
  it('is written again after it was read, because what was read may not have reached the disk', async () => {
    const [before] = await saved(voteOf(7n));
    expect(await loaded()).toEqual(voteOf(7n));
    const after = await readFile(path);
    const differs = [...after.keys()].filter((at) => before?.[at] !== after[at]);
    // The other slot has the same vote now, with the next number.
    expect(differs.length).toBeGreaterThan(20);
    await using handle = await open(path, 'r+');
    await handle.write(Buffer.alloc(4_096), 0, 4_096, Math.min(...differs) < 4_096 ? 4_096 : 0);
    expect(await loaded()).toEqual(voteOf(7n));
  });

  it('reaches the disk before anything is written after it was read, as that write replaces the previous vote', async () => {
    await saved(voteOf(7n), voteOf(8n));
    await using handle = await open(folder);
    const write = vi.spyOn<FileHandle, 'write'>(Object.getPrototypeOf(handle), 'write');
    const datasync = vi.spyOn<FileHandle, 'datasync'>(Object.getPrototypeOf(handle), 'datasync');
    try {
      expect(await loaded()).toEqual(voteOf(8n));
      const [written, synced] = [write, datasync].map(({ mock }) => mock.invocationCallOrder);
      expect([written?.length, synced?.length]).toEqual([1, 2]);
      expect([synced![0], written![0], synced![1]]).toEqual([...synced!, ...written!].toSorted((a, b) => a - b));
    } finally {
      write.mockRestore();
      datasync.mockRestore();
    }
  });

  it('has room for the largest list of members', async () => {
    const members = Array.from({ length: 15 }, (_, i) => `${i}`.padStart(2, '0').padEnd(128, 'm'));
    const vote: Vote = { memberId: members[0] ?? '', term: 2n ** 63n - 1n, votedFor: members[14], members, promiseMs: 100_000 / 3 };
    await saved(vote, vote);
    expect(await loaded()).toEqual(vote);
  });

  it('has no vote before the first save', async () => {
    expect(await loaded()).toBeUndefined();
    expect(await loaded()).toBeUndefined();
  });

  it('has the last vote, over any number of them, each opened anew or not', async () => {
    const file = voteFile(path);
    await file.load();
    for (let term = 1n; term <= 5n; term += 1n) {
      await file.save(voteOf(term));
      // A process that dies now leaves this file to the next one.
      await copyFile(path, `${path}-left`);
      expect(await loaded(`${path}-left`)).toEqual(voteOf(term));
    }
    await file.close();
    await saved(voteOf(2n ** 63n - 1n));
    expect(await loaded()).toEqual(voteOf(2n ** 63n - 1n));
  });

  it('has the former or the new vote, and nothing else, wherever a crash cuts the write', async () => {
    for (const last of [1n, 2n, 3n]) {
      const [before, after] = (await saved(voteOf(last), voteOf(last + 100n))) as [Buffer, Buffer];
      const seen = new Set<bigint | undefined>();
      for (let cut = 0; cut <= after.length; cut += 1) {
        // Only what differs is worth a look: the rest was written before.
        if (cut > 0 && cut < after.length && before[cut - 1] === after[cut - 1]) continue;
        await writeFile(path, Buffer.concat([after.subarray(0, cut), before.subarray(cut)]));
        const vote = await loaded();
        expect([voteOf(last), voteOf(last + 100n)]).toContainEqual(vote);
        seen.add(vote?.term);
      }
      expect([...seen]).toEqual([last, last + 100n]);
      await rm(path);
    }
  });

  it('has the former vote if a crash loses any byte of the new one', async () => {
    const [before, after] = (await saved(voteOf(7n), voteOf(8n))) as [Buffer, Buffer];
    const changed = [...after.keys()].filter((i) => before[i] !== after[i]);
    expect(changed.length).toBeGreaterThan(20);
    for (const missing of changed) {
      const torn = Buffer.from(after);
      torn[missing] = before[missing]!;
      await writeFile(path, torn);
      expect(await loaded()).toEqual(voteOf(7n));
    }
  });

  it('keeps later votes after a torn write', async () => {
    await saved(voteOf(3n));
    const before = await readFile(path);
    await saved(voteOf(4n));
    const after = await readFile(path);
    const cut = [...after.keys()].findLast((i) => before[i] !== after[i])!;
    await writeFile(path, Buffer.concat([after.subarray(0, cut), before.subarray(cut)]));
    await saved(voteOf(5n));
    expect(await loaded()).toEqual(voteOf(5n));
  });

  it('refuses a file in which neither vote is readable, rather than forget a vote', async () => {
    await saved(voteOf(3n));
    for (const garbage of [Buffer.alloc(0), Buffer.alloc(8_192), Buffer.from('hello'), (await readFile(path)).map((byte) => byte ^ 1)]) {
      await writeFile(path, garbage);
      await expect(loaded()).rejects.toMatchObject({ code: 'CORRUPT', message: expect.stringContaining(path), details: { file: path } });
    }
  });

  it('refuses a file that is shorter than both votes, as the newer one may be gone', async () => {
    for (const last of [7n, 8n]) {
      const bytes = (await saved(voteOf(last), voteOf(last + 1n)))[1]!;
      for (const length of [4_095, 4_096, 8_191]) {
        await writeFile(path, bytes.subarray(0, length));
        await expect(loaded()).rejects.toMatchObject({ code: 'CORRUPT', details: { file: path } });
      }
      await rm(path);
    }
  });

  it.each(['hello', '{"term":', '[]', 'null', '{"memberId":"a","term":1}'])(
    'refuses a body that is not a vote, even if its checksum is right: %s',
    async (body) => {
      await saved(voteOf(3n));
      await writeFile(path, withBody(await readFile(path), body));
      await expect(loaded()).rejects.toMatchObject({ code: 'CORRUPT', message: expect.stringContaining(path), details: { file: path } });
    },
  );

  it('refuses the highest number, which has no successor', async () => {
    await saved(voteOf(3n));
    const numbered = withBody(await readFile(path), '');
    numbered.writeBigUInt64BE(2n ** 64n - 1n, 8);
    await writeFile(path, withBody(numbered, '{"memberId":"a","term":"3"}'));
    await expect(loaded()).rejects.toMatchObject({ code: 'CORRUPT' });
  });

  it('never returns a wrong vote from a file in which one byte has changed', async () => {
    await saved(voteOf(3n));
    await saved(voteOf(4n));
    const whole = await readFile(path);
    for (const i of [...whole.keys()].filter((at) => whole[at] !== 0)) {
      await writeFile(path, whole.with(i, whole[i]! ^ 0x10));
      expect([voteOf(3n), voteOf(4n)]).toContainEqual(await loaded());
    }
  });

  it.skipIf(process.platform === 'win32')('is for its owner alone, and writes to no other file that a symbolic link leads to', async () => {
    const precious = join(folder, 'precious');
    await writeFile(precious, 'as it was');
    await symlink(precious, `${path}.new`);
    expect(await loaded()).toBeUndefined();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await rm(path);
    await symlink(precious, path);
    await expect(loaded()).rejects.toMatchObject({ code: 'ELOOP' });
    expect(await readFile(precious, 'utf8')).toBe('as it was');
  });

  it('keeps a vote on Windows, which refuses to sync a folder', async () => {
    await using handle = await open(folder);
    const { sync } = handle;
    const refuseFolder = async (file: FileHandle): Promise<void> => {
      if ((await file.stat()).isDirectory()) throw Object.assign(new Error('operation not permitted, fsync'), { code: 'EPERM' });
      await sync.call(file);
    };
    const spy = vi.spyOn<FileHandle, 'sync'>(Object.getPrototypeOf(handle), 'sync');
    spy.mockImplementation(function (this: FileHandle): Promise<void> {
      return refuseFolder(this);
    });
    try {
      await saved(voteOf(1n));
      expect(await loaded()).toEqual(voteOf(1n));
    } finally {
      spy.mockRestore();
    }
  });

  it.each([
    ['write', 'ENOSPC: no space left on device, write'],
    ['datasync', 'EIO: i/o error, fdatasync'],
  ] as const)('names the file in an error of the disk (%s)', async (method, text) => {
    const code = text.split(':')[0];
    await using handle = await open(folder);
    const file = voteFile(path);
    await file.load();
    const spy = vi.spyOn<FileHandle, typeof method>(Object.getPrototypeOf(handle), method);
    spy.mockRejectedValue(Object.assign(new Error(text), { code }));
    try {
      const message = `the vote file ${path}: ${text}`;
      await expect(file.save(voteOf(1n))).rejects.toMatchObject({ code, message, cause: { message: text } });
    } finally {
      spy.mockRestore();
      await file.close();
    }
  });

  it('rejects with the error of the file system', async () => {
    path = join(folder, 'no/such/folder/vote');
    await expect(loaded()).rejects.toMatchObject({ code: 'ENOENT', message: expect.stringMatching(/ENOENT: .*no\/such\/folder/) });
    await expect(voteFile(join(folder, 'unloaded')).save(voteOf(1n))).rejects.toThrow('loaded before');
    expect(() => voteFile('')).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });
});

describe('a vote file that is open in this process', () => {
  const refused = { code: 'INVALID_OPTION', details: { option: 'path' }, message: expect.stringMatching(/one file for each election/) };

  it('is refused to a second election, which would forget votes of the first one', async () => {
    const [first, second] = [voteFile(path), voteFile(path)];
    await first.load();
    await expect(second.load()).rejects.toMatchObject(refused);
    await second.close();
    await first.save(voteOf(7n));
    await first.close();
    expect(await loaded()).toEqual(voteOf(7n));
  });

  it('is refused under every path that leads to it', async () => {
    await mkdir(join(folder, 'real'));
    await symlink(join(folder, 'real'), join(folder, 'link'));
    path = join(folder, 'real/vote');
    const file = voteFile(path);
    await file.load();
    await symlink(path, join(folder, 'vote'));
    for (const other of [join(folder, 'link/vote'), join(folder, 'vote'), relative(process.cwd(), path), `${folder}/real/../link/./vote`])
      await expect(voteFile(other).load()).rejects.toMatchObject(refused);
    await file.close();
    expect(await loaded(join(folder, 'link/vote'))).toBeUndefined();
  });

  it('is refused to all but one of those that open it at the same time, also if it does not exist yet', async () => {
    const files = ['a', 'b', 'c'].map(() => voteFile(path));
    const ends = await Promise.allSettled(files.map((file) => file.load()));
    expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected']);
    await files[ends.findIndex(({ status }) => status === 'fulfilled')]?.save(voteOf(7n));
    await Promise.all(files.map((file) => file.close()));
    expect(await loaded()).toEqual(voteOf(7n));
  });

  it('is refused to a second member that has the same storage', async () => {
    const file = voteFile(path);
    await file.load();
    await expect(file.load()).rejects.toMatchObject(refused);
    await file.close();
    expect(await file.load()).toBeUndefined();
    await file.close();
  });

  it('is open no more after a load that failed', async () => {
    await writeFile(path, 'hello');
    const file = voteFile(path);
    await expect(file.load()).rejects.toMatchObject({ code: 'CORRUPT' });
    await rm(path);
    expect(await loaded()).toBeUndefined();
  });

  it('is open no more when the start of its member has failed', async () => {
    const algorithm = quorum({ members: ['a'] });
    const inUse = Object.assign(new Error('the port is in use'), { code: 'EADDRINUSE' });
    const member = new PeerMember({ algorithm, transport: { open: () => Promise.reject(inUse) }, memberId: 'a', storage: voteFile(path) });
    await expect(member.start()).rejects.toBe(inUse);
    const later = new PeerMember({ algorithm, transport: new MemoryNetwork(), memberId: 'a', storage: voteFile(path) });
    await later.start();
    await later.close();
    await member.close();
  });

  it('stays open when another member with the same storage is closed, whether its start was refused or never tried', async () => {
    const [algorithm, storage] = [quorum({ members: ['a'] }), voteFile(path)];
    const memberOf = (): PeerMember<'quorum'> => new PeerMember({ algorithm, transport: new MemoryNetwork(), memberId: 'a', storage });
    const [first, second, idle] = [memberOf(), memberOf(), memberOf()];
    await first.start();
    await expect(second.start()).rejects.toMatchObject(refused);
    await second.close();
    await idle.close();
    await storage.save(voteOf(7n));
    await expect(voteFile(path).load()).rejects.toMatchObject(refused);
    await first.close();
    expect(await loaded()).toEqual(voteOf(7n));
  });

  it('keeps a second member from starting until the first one has closed', async () => {
    const algorithm = quorum({ members: ['a'] });
    const memberOf = (): PeerMember<'quorum'> =>
      new PeerMember({ algorithm, transport: new MemoryNetwork(), memberId: 'a', storage: voteFile(path) });
    const [first, second] = [memberOf(), memberOf()];
    await first.start();
    await expect(second.start()).rejects.toMatchObject(refused);
    await second.close();
    await expect(memberOf().start()).rejects.toMatchObject(refused);
    await first.close();
    const third = memberOf();
    await third.start();
    await third.close();
  });
});
