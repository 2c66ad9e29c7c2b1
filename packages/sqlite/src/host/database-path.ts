/**
 * Resolves the path of the file, and refuses places where SQLite's locks do not work. Processes
 * share SQLite's write-ahead log through shared memory, so "all processes using a database must be
 * on the same host computer; WAL does not work over a network filesystem" (sqlite.org/wal.html).
 */

import { accessSync, constants, readFileSync, readlinkSync, realpathSync, statSync, type BigIntStats } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';

import { fileUnreachable, folderUnreachable, hasErrno, notWritable, unsuitableFile } from '../errors.ts';

/** File systems that several machines can mount at once, by the names that the kernel uses. */
const SHARED =
  /^(?:nfs\d?|cifs|smb\d?|smbfs|9p|virtiofs|vboxsf|prl_fs|vmhgfs|afs|coda|ceph|glusterfs|lustre|beegfs|gpfs|gfs2|ocfs2|orangefs|pvfs2|ncpfs|davfs)$/;
/** The same, in user space. Other FUSE file systems, such as overlays and NTFS, are local. */
const SHARED_FUSE =
  /^fuse\.(?:sshfs|glusterfs|ceph|ceph-fuse|s3fs|s3ql|rclone|gcsfuse|goofys|juicefs|mfs|moosefs|lizardfs|vmhgfs-fuse|grpcfuse|osxfs|davfs|blobfuse2?|mountpoint-s3)$/;

export interface Mount {
  readonly at: string;
  readonly type: string;
}

/**
 * Returns the true path of the file. Throws a `StoreError`: `UNREACHABLE` (no such folder),
 * `UNSUPPORTED` (not a file, a shared file system, a file with two names, or a file that is mounted
 * alone), `PERMISSION_DENIED`.
 */
export function checkDatabasePath(file: string): string {
  const path = truePath(file);
  const stats = statsOf(path);
  if (stats !== undefined && !stats.isFile()) throw unsuitableFile(path, 'is not a file');
  // The name of the log comes from the name of the file, so two names would have two logs
  // (sqlite.org/howtocorrupt.html, 2.4).
  if (stats !== undefined && stats.nlink > 1n)
    throw unsuitableFile(path, 'has several names (hard links): SQLite would keep a log for each');
  const mount = path.startsWith('\\\\') ? { at: '', type: 'smb' } : mountOf(path, mounts());
  if (mount !== undefined && isShared(mount.type)) {
    throw unsuitableFile(
      path,
      `lies on a file system that machines share (${mount.type}): SQLite's locks hold on one host only. Choose a local disk`,
    );
  }
  // There would be two logs again: one in the folder that the file is mounted into, and one in the
  // file's own folder, for processes that use the file there.
  if (mount?.at === path)
    throw unsuitableFile(path, 'was mounted alone (a bind mount of one file), without its log beside it: mount its folder');
  checkAccess(path, stats !== undefined);
  return path;
}

export function isShared(type: string): boolean {
  return SHARED.test(type) || SHARED_FUSE.test(type);
}

/** The mount of a path, from the kernel's `mountinfo`, see proc(5). Undefined: unknown. */
export function mountOf(path: string, mountinfo: string): Mount | undefined {
  let found: Mount | undefined;
  for (const line of mountinfo.split('\n')) {
    const [left, right] = line.split(' - ');
    const at = left?.split(' ')[4]?.replaceAll(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
    const type = right?.split(' ')[0];
    if (at === undefined || type === undefined || !isWithin(path, at)) continue;
    // The later of two mounts at one path hides the earlier one.
    if (found === undefined || at.length >= found.at.length) found = { at, type };
  }
  return found;
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function mounts(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    return '';
  }
}

function truePath(file: string): string {
  try {
    return realpathSync(file);
  } catch (error) {
    const folder = folderOf(file);
    // A symbolic link to a file that does not exist yet. A circle of links fails with another code.
    const target = hasErrno(error, 'ENOENT') ? linkAt(file) : undefined;
    return target === undefined ? join(folder, basename(file)) : truePath(resolve(folder, target));
  }
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

function folderOf(file: string): string {
  try {
    return realpathSync(dirname(file));
  } catch (cause) {
    throw folderUnreachable(file, cause);
  }
}

/**
 * Undefined: there is no such file. Throws `PERMISSION_DENIED` or `UNREACHABLE` if the system does
 * not tell.
 */
export function statsOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false, bigint: true });
  } catch (cause) {
    throw fileUnreachable(path, cause);
  }
}

/** SQLite creates the log beside the file, so the folder must be writable too. */
function checkAccess(path: string, exists: boolean): void {
  const { R_OK, W_OK, X_OK } = constants;
  try {
    accessSync(dirname(path), W_OK | X_OK);
    if (exists) accessSync(path, R_OK | W_OK);
  } catch (cause) {
    throw notWritable(path, cause);
  }
}
