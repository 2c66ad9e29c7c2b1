import type * as fileSystem from 'node:fs';
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { checkDatabasePath, isShared, mountOf } from '../src/host/database-path.ts';
import { Rig } from './rig.ts';

/** What the kernel says of what is mounted; undefined: its own words. */
let mountinfo: string | undefined;

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof fileSystem>();
  return {
    ...fs,
    readFileSync: (path: string, encoding: 'utf8') =>
      path === '/proc/self/mountinfo' && mountinfo !== undefined ? mountinfo : fs.readFileSync(path, encoding),
  };
});

afterEach(() => {
  mountinfo = undefined;
});

function mount(at: string, type: string): string {
  return `36 35 98:0 / ${at} rw,noatime master:1 - ${type} source rw,errors=continue`;
}

const ROOT = mount('/', 'ext4');

describe('the type of the file system that a path lies on', () => {
  it.each([
    ['the root’s, where nothing else is mounted', '/data/state.db', [ROOT], 'ext4'],
    ['that of the mount it is below', '/data/state.db', [ROOT, mount('/data', 'nfs4')], 'nfs4'],
    ['that of the innermost of nested mounts', '/data/a/state.db', [ROOT, mount('/data', 'nfs4'), mount('/data/a', 'xfs')], 'xfs'],
    ['in any order of the mounts', '/data/a/state.db', [mount('/data/a', 'xfs'), mount('/data', 'nfs4'), ROOT], 'xfs'],
    ['not that of a folder whose name only begins alike', '/database/state.db', [ROOT, mount('/data', 'nfs4')], 'ext4'],
    ['that of the later of two at one place', '/data/state.db', [ROOT, mount('/data', 'nfs4'), mount('/data', 'tmpfs')], 'tmpfs'],
    ['that of the later of two roots', '/state.db', [mount('/', 'rootfs'), mount('/', 'overlay')], 'overlay'],
    ['of a folder with a space, which the kernel writes in octal', '/my data/state.db', [ROOT, mount('/my\\040data', 'cifs')], 'cifs'],
    ['of a folder with a tab, a line break and a backslash', '/a\tb\nc\\d/x', [ROOT, mount('/a\\011b\\012c\\134d', 'cifs')], 'cifs'],
    ['of a path that is a mount itself', '/data', [ROOT, mount('/data', 'xfs')], 'xfs'],
    ['with fields of other mounts’ own', '/data/x', ['1 2 0:1 / /data rw - fuse.sshfs user@host:/a rw,user_id=0'], 'fuse.sshfs'],
    ['with several such fields', '/data/x', ['1 2 0:1 / /data rw shared:1 master:2 - nfs host:/a rw'], 'nfs'],
  ])('is %s', (_, path, lines, type) => {
    expect(mountOf(path, `${lines.join('\n')}\n`)?.type).toBe(type);
  });

  it('is unknown if the kernel reports nothing, or something unreadable', () => {
    expect(mountOf('/data/state.db', '')).toBeUndefined();
    expect(mountOf('/data/state.db', 'one two three\n - \n\n')).toBeUndefined();
  });

  it.each(['nfs', 'nfs4', 'cifs', 'smb3', '9p', 'virtiofs', 'vboxsf', 'ceph', 'glusterfs', 'lustre', 'gfs2', 'ocfs2', 'fuse.sshfs'])(
    'is one that machines share: %s',
    (type) => {
      expect(isShared(type)).toBe(true);
    },
  );

  it.each(['fuse.glusterfs', 'fuse.s3fs', 'fuse.rclone', 'fuse.juicefs', 'fuse.grpcfuse', 'fuse.mountpoint-s3', 'fuse.blobfuse2'])(
    'is one that machines share, in user space: %s',
    (type) => {
      expect(isShared(type)).toBe(true);
    },
  );

  it.each(['ext4', 'xfs', 'btrfs', 'zfs', 'tmpfs', 'overlay', 'fuseblk', 'fuse.fuse-overlayfs', 'fuse.ntfs-3g', 'nfsd', 'f2fs', 'apfs'])(
    'is a local one: %s',
    (type) => {
      expect(isShared(type)).toBe(false);
    },
  );
});

describe('a path', () => {
  function refusal(file: string): unknown {
    try {
      return checkDatabasePath(file);
    } catch (error) {
      return error;
    }
  }

  it('is accepted whether the file exists or not, and resolved to the true path', () => {
    using rig = new Rig();
    expect(checkDatabasePath(rig.file)).toBe(rig.file);
    writeFileSync(rig.file, '');
    expect(checkDatabasePath(rig.file)).toBe(rig.file);
    const folder = join(rig.folder, 'linked');
    symlinkSync(rig.folder, folder);
    expect(checkDatabasePath(join(folder, 'state.db'))).toBe(rig.file);
    expect(checkDatabasePath(join(folder, 'other.db'))).toBe(join(rig.folder, 'other.db'));
    symlinkSync(rig.file, join(rig.folder, 'link.db'));
    expect(checkDatabasePath(join(rig.folder, 'link.db'))).toBe(rig.file);
  });

  it('of a link to a file that does not exist yet is resolved to that file', () => {
    using rig = new Rig();
    mkdirSync(join(rig.folder, 'data'));
    symlinkSync('data/state.db', rig.file);
    expect(checkDatabasePath(rig.file)).toBe(join(rig.folder, 'data', 'state.db'));
  });

  it('that is a folder is refused', () => {
    using rig = new Rig();
    expect(refusal(rig.folder)).toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused', message: `sqlite: ${rig.folder} is not a file` });
  });

  it('of a file with a second hard link is refused by either name, because it would have two logs', async () => {
    using rig = new Rig();
    await (await rig.open()).close();
    const other = join(rig.folder, 'other.db');
    linkSync(rig.file, other);
    for (const file of [rig.file, other]) {
      const refused = rig.open({ file });
      await expect(refused).rejects.toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused', details: { file } });
      await expect(refused).rejects.toThrow('has several names (hard links)');
    }
  });

  it('in a folder that does not exist is UNREACHABLE, and nothing is created', async () => {
    using rig = new Rig();
    const file = join(rig.folder, 'none', 'state.db');
    const refused = rig.open({ file });
    await expect(refused).rejects.toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent', cause: { code: 'ENOENT' } });
    await expect(refused).rejects.toThrow(`the folder of ${file} cannot be reached`);
  });

  it('through a cycle of links is refused', async () => {
    using rig = new Rig();
    symlinkSync('other.db', rig.file);
    symlinkSync('state.db', join(rig.folder, 'other.db'));
    await expect(rig.open()).rejects.toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent', details: { file: rig.file } });
  });

  it('below a file is refused', () => {
    using rig = new Rig();
    writeFileSync(rig.file, '');
    expect(refusal(join(rig.file, 'state.db'))).toMatchObject({ code: 'PERMISSION_DENIED', outcome: 'refused' });
  });

  it('on a network file system is refused before a file is created there', async () => {
    using rig = new Rig();
    mountinfo = [ROOT, mount(rig.folder, 'nfs4')].join('\n');
    const refused = rig.open();
    await expect(refused).rejects.toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused' });
    await expect(refused).rejects.toThrow('lies on a file system that machines share (nfs4)');
    mountinfo = ROOT;
    expect(refusal(rig.file)).toBe(rig.file);
  });

  it('of a link to such a file system is refused, whether the file exists or not', () => {
    using rig = new Rig();
    const shared = join(rig.folder, 'shared');
    mkdirSync(shared);
    mountinfo = [ROOT, mount(shared, 'nfs4')].join('\n');
    symlinkSync(join(shared, 'state.db'), rig.file);
    expect(refusal(rig.file)).toMatchObject({ code: 'UNSUPPORTED' });
    writeFileSync(join(shared, 'state.db'), '');
    expect(refusal(rig.file)).toMatchObject({ code: 'UNSUPPORTED' });
  });

  it('is accepted if the kernel does not report mounts', () => {
    using rig = new Rig();
    mountinfo = '';
    expect(checkDatabasePath(rig.file)).toBe(rig.file);
  });

  it('of a file that was mounted alone is refused: its log would be in another folder than for processes that use the file in its own folder', () => {
    using rig = new Rig();
    writeFileSync(rig.file, '');
    mountinfo = [ROOT, mount(rig.file, 'ext4')].join('\n');
    expect(refusal(rig.file)).toMatchObject({
      code: 'UNSUPPORTED',
      outcome: 'refused',
      message: expect.stringContaining('mount its folder'),
    });
    mountinfo = [ROOT, mount(rig.folder, 'ext4')].join('\n');
    expect(refusal(rig.file)).toBe(rig.file);
  });
});
