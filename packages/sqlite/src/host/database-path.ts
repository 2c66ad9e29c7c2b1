/**
 * Where a file may not lie. SQLite's write-ahead log is memory that processes of one host share, and its locks are that host's: "all
 * processes using a database must be on the same host computer; WAL does not work over a network filesystem" (sqlite.org/wal.html). So far as
 * it can be told, such a place is refused.
 */

import { accessSync, constants, readFileSync, readlinkSync, realpathSync, statSync, type Stats } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';

import { StoreError } from '@incumbent/core/adapter';

/** File systems that several machines may have mounted at once, by the names that the kernel gives them. */
const SHARED =
  /^(?:nfs\d?|cifs|smb\d?|smbfs|9p|virtiofs|vboxsf|prl_fs|vmhgfs|afs|coda|ceph|glusterfs|lustre|beegfs|gpfs|gfs2|ocfs2|orangefs|pvfs2|ncpfs|davfs)$/;
/** The same in user space. Other file systems there, such as overlays and NTFS, are local. */
const SHARED_FUSE =
  /^fuse\.(?:sshfs|glusterfs|ceph|ceph-fuse|s3fs|s3ql|rclone|gcsfuse|goofys|juicefs|mfs|moosefs|lizardfs|vmhgfs-fuse|grpcfuse|osxfs|davfs|blobfuse2?|mountpoint-s3)$/;

export interface Mount {
  readonly at: string;
  readonly type: string;
}

/** The file's true path. Throws what is wrong with the place: no such folder, a shared file system, a file with two names or mounted alone. */
export function checkPlace(file: string): string {
  const path = truePath(file);
  const stats = statsOf(path);
  if (stats !== undefined && !stats.isFile()) throw unfit(path, 'is no file');
  // The log's name comes from the file's: under two names, two logs (sqlite.org/howtocorrupt.html, 2.4).
  if (stats !== undefined && stats.nlink > 1) throw unfit(path, 'has several names (hard links): SQLite would keep a log for each');
  const mount = path.startsWith('\\\\') ? { at: '', type: 'smb' } : mountOf(path, mounts());
  if (mount !== undefined && isShared(mount.type)) {
    throw unfit(
      path,
      `lies on a file system that machines share (${mount.type}): SQLite's locks hold on one host only. Choose a local disk`,
    );
  }
  // Two logs again: this one's in the folder that it was mounted into, and that of whoever has the file's own folder there.
  if (mount?.at === path) throw unfit(path, 'was mounted alone (a bind mount of one file), without its log beside it: mount its folder');
  checkAccess(path, stats !== undefined);
  return path;
}

export function isShared(type: string): boolean {
  return SHARED.test(type) || SHARED_FUSE.test(type);
}

/** The mount that a path lies on, by the kernel's `mountinfo`; undefined where there is none. See proc(5). */
export function mountOf(path: string, mountinfo: string): Mount | undefined {
  let found: Mount | undefined;
  for (const line of mountinfo.split('\n')) {
    const [left, right] = line.split(' - ');
    const at = left?.split(' ')[4]?.replaceAll(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
    const type = right?.split(' ')[0];
    if (at === undefined || type === undefined || !isWithin(path, at)) continue;
    // Of two mounts at one place, the later one is what is seen.
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
    // A link to a file that is not there yet. In a circle of links, nothing is absent.
    const target = hasCode(error, 'ENOENT') ? linkAt(file) : undefined;
    return target === undefined ? join(folder, basename(file)) : truePath(resolve(folder, target));
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
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
    throw new StoreError('UNREACHABLE', 'notSent', `sqlite: the folder of ${file} cannot be reached`, { cause });
  }
}

/** Undefined: it is not there. */
function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    if (hasCode(cause, 'EACCES')) throw unwritable(path, cause);
    throw new StoreError('UNREACHABLE', 'notSent', `sqlite: ${path} cannot be reached`, { cause, details: { file: path } });
  }
}

/** The log is made beside the file, so that its folder must be writable, too. */
function checkAccess(path: string, exists: boolean): void {
  const { R_OK, W_OK, X_OK } = constants;
  try {
    accessSync(dirname(path), W_OK | X_OK);
    if (exists) accessSync(path, R_OK | W_OK);
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

function unwritable(path: string, cause: unknown): StoreError {
  const message = `sqlite: ${path} cannot be written: the file and its folder must both be writable`;
  return new StoreError('PERMISSION_DENIED', 'refused', message, { cause, details: { file: path } });
}

function unfit(path: string, why: string): StoreError {
  return new StoreError('UNSUPPORTED', 'refused', `sqlite: ${path} ${why}`, { details: { file: path } });
}
