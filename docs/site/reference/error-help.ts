/**
 * What each error code means, what causes it, and what to do. The type makes a new code without an
 * entry a compile error. `pnpm reference` writes docs/reference/errors.md from this table.
 */

import type { ErrorCode, StoreErrorCode } from '@incumbent/core';

/** The entry of one code. All texts are Markdown sentences. */
export interface ErrorHelp {
  readonly meaning: string;
  readonly cause: string;
  readonly remedy: string;
  /** The fields of `error.details`, if there are any. */
  readonly details?: string;
}

/** Codes of failed store calls. */
export const storeErrors: Readonly<Record<StoreErrorCode, ErrorHelp>> = {
  UNREACHABLE: {
    meaning: 'No server could be reached.',
    cause:
      'The address or port in the URL is wrong, the server does not run, or a firewall drops ' +
      'the connection. Every address in the URL was tried.',
    remedy:
      'Check the URL with `incumbent doctor`. A running member retries by itself. At the ' +
      'start, `openStore(url, { waitMs })` waits for a store that is still starting.',
  },
  TIMEOUT: {
    meaning: 'No answer came within `timeoutMs`.',
    cause:
      'The server or the network is slow, or the event loop of this process was blocked while ' +
      'the answer arrived.',
    remedy:
      'A read can be repeated. A write may have been applied: read the keys first. If timeouts ' +
      'are frequent, raise `ttlMs`, from which the timeout of a call follows, or find out what ' +
      'blocks the event loop (event [`loopLag`](events.md#looplag)).',
  },
  CONNECTION_LOST: {
    meaning: 'The connection was lost during the call.',
    cause: 'The server was restarted, or a proxy or the network closed the connection.',
    remedy:
      'The same as for `TIMEOUT`: repeat a read; after a write, read the keys before you ' +
      'repeat the write.',
  },
  UNAVAILABLE: {
    meaning: 'The store was reached but cannot serve now.',
    cause:
      'The servers have no quorum or no leader, are overloaded or shutting down. On SQLite, ' +
      'another process has locked the file for too long, or the disk is full.',
    remedy: 'Members retry by themselves. If the error persists, check the state of the cluster.',
  },
  UNAUTHENTICATED: {
    meaning: 'The store rejects the user, password, token or certificate.',
    cause:
      'The credentials in the URL or the options are wrong or missing, or a certificate has ' +
      'expired.',
    remedy:
      'Correct the credentials. Percent-encode characters such as `@`, `:` and `/` in the ' +
      'password of a URL. `campaign` and `lead` reject, because a retry would not help: those of ' +
      'a candidate at once, that of a leader when its lease has ended. The process then [takes ' +
      'no further part](../operations.md#a-process-that-takes-no-further-part) in the election, ' +
      'so end it. The same page describes a rotation of credentials.',
  },
  PERMISSION_DENIED: {
    meaning: 'The credentials are valid but do not allow this call.',
    cause:
      'The user may not read or write below the namespace of the store. On SQLite, the process ' +
      'may not write the file or its folder.',
    remedy:
      'Run the statement in `details.grant`, which the message shows. The README of the ' +
      'package of each store lists all rights that a member needs.',
    details: '`keys`, `right`, `grant`, where the store tells them. On SQLite: `file`.',
  },
  LEASE_EXPIRED: {
    meaning: 'The lease is gone, and with it every key that was bound to the lease.',
    cause: 'The lease was not renewed within its ttl, or an operator has revoked the lease.',
    remedy:
      'Nothing to do in an election: the member opens a new session and campaigns again. In ' +
      'code that uses `Store` directly, grant a new lease.',
    details: 'On Consul: `lease`.',
  },
  TOO_LARGE: {
    meaning: 'A value, or the number of changes, exceeds the limit of the store.',
    cause:
      'The published value or a value in `swap` is too large, or one swap holds more changes ' +
      'than `capabilities.maxChanges`.',
    remedy:
      'Publish an address instead of the data. Split the swap. [Stores](../stores.md) lists ' +
      'the limits.',
  },
  UNSUPPORTED: {
    meaning:
      'The server is not a store of this kind, or its version lacks something that is needed.',
    cause:
      'The URL points to another service, the server is too old, or a setting of the server ' +
      'makes elections unsafe, such as a `maxmemory-policy` of Redis other than `noeviction`.',
    remedy:
      'The message names what is missing. Correct the URL, upgrade the server, or change the ' +
      'setting.',
    details: 'On SQLite: `file` or `version`.',
  },
  SHARED_FILE: {
    meaning: 'Another machine uses the SQLite file of this store.',
    cause:
      'The file lies on a network file system, where the processes of the other machine and ' +
      'its clock are not visible.',
    remedy:
      'Put the file on a local disk, or use a store with servers for processes on several ' +
      'machines.',
    details: '`file`, `machine`.',
  },
  CORRUPT: {
    meaning: 'The data of the store are damaged.',
    cause:
      'A file of SQLite, or the file that holds the vote of a peer member, was truncated, ' +
      'overwritten or restored in part.',
    remedy:
      'SQLite: restore the file from a backup or delete it, and then set `minTerm` above the ' +
      'highest term that a fence has seen. The vote of a peer member: never restore it, and ' +
      '[remove it](../../packages/peer/README.md#remove-a-vote-file) only in the steps that are ' +
      'described there, because a member that forgets its vote may vote twice.',
    details: 'On SQLite, and for a vote file: `file`.',
  },
  STORE_CLOSED: {
    meaning: 'The store was closed.',
    cause: 'The program called `store.close()` and used the store, or a member on it, afterwards.',
    remedy: 'Close the members first, then the store.',
  },
  CONFLICT: {
    meaning: 'Another program changed a key of `leadership.stored` at the same time.',
    cause:
      'A program that does not lead writes to the same key. With the outcome `refused`, it did ' +
      'so at each of 20 tries, and the value was not written. With `unknown`, the answer to ' +
      'the write was lost, so nobody can tell whether the write took place before the change.',
    remedy:
      'Let only leaders write to the key. After `unknown`, read the value and decide whether ' +
      'to write again.',
    details: '`key`.',
  },
  STORE_FAILED: {
    meaning: 'Any other failure of a store call.',
    cause:
      'The server answered with an error that has no code of its own. `error.cause` is the ' +
      'native error.',
    remedy: 'Read `error.cause`. Members treat this error as temporary and retry.',
  },
};

/** Codes of everything that is not a store call. */
export const otherErrors: Readonly<Record<Exclude<ErrorCode, StoreErrorCode>, ErrorHelp>> = {
  INVALID_OPTION: {
    meaning: 'An option is missing, of the wrong type, or out of range.',
    cause:
      'A mistake in the program. The message names the option, the value and the allowed ' +
      'range. The error is a `TypeError` or a `RangeError`.',
    remedy: 'Correct the option. The error is thrown before any call to the store.',
    details: '`option`, `value`. Never a secret.',
  },
  INVALID_NAME: {
    meaning: 'A name of a member, an election or a group does not match `[A-Za-z0-9._-]{1,128}`.',
    cause: 'A mistake in the program, often a host name or a path used as an id.',
    remedy: 'Replace the characters that are not allowed.',
    details: '`what`, `name`.',
  },
  UNKNOWN_SCHEME: {
    meaning: 'The scheme of the URL belongs to no store that this SDK knows.',
    cause: 'A typing error in the URL, or the URL of another system.',
    remedy: 'Use one of the schemes that the message lists.',
    details: '`scheme`, `known`.',
  },
  ADAPTER_MISSING: {
    meaning: 'The package of this store is not installed.',
    cause:
      'Each store is a package of its own. `incumbent` loads the package when the scheme is ' +
      'first used.',
    remedy:
      'Install the package that the message names, for example `npm install @incumbent/etcd`.',
    details: '`package`.',
  },
  WEAK_STORE: {
    meaning: 'The store is not linearizable, and the election does not accept that.',
    cause:
      'The message says how the store may lose a write that it has acknowledged: Redis and ' +
      'Valkey in a failover or a restart of their servers, PostgreSQL in a crash if `fsync` is ' +
      'off (as containers for tests often set it), or in a failover if all its standbys are ' +
      'asynchronous. Two members may then lead.',
    remedy:
      'Use a linearizable store, or accept the weaker guarantee with the name of the store, such ' +
      "as `acceptWeakStore: 'redis'` (`--accept-weak-store redis` on the command line), and " +
      'protect every write with a [fence](../glossary.md#fence).',
    details: '`store`, `election`.',
  },
  FOREIGN_DATA: {
    meaning:
      'A key of the election, its published value, or a value of `leadership.stored` holds ' +
      'data that this program does not expect.',
    cause:
      'Another program writes below the same namespace, somebody edited a key by hand, or the ' +
      '`parse` or the `codec` of this reader refuses the value: `cause` says why.',
    remedy:
      'Give each application a namespace of its own. Compare the value options of all members ' +
      'and observers.',
    details: '`key`, and the `issues` of a schema.',
  },
  NEWER_FORMAT: {
    meaning: 'A key of the election was written in a newer major version of the format.',
    cause: 'Other members already run a newer major version of the SDK.',
    remedy: 'Upgrade this process.',
    details: '`key`, `format`.',
  },
  LEASE_TOO_SHORT: {
    meaning: 'The store granted a lease that is too short to lead.',
    cause: 'The server limits leases to less than this member needs for its margin and `drainMs`.',
    remedy:
      'Lower `drainMs`, or raise the longest lease that the server grants ' +
      '([timing](../timing.md)).',
    details: '`askedMs`, `grantedMs`.',
  },
  DUPLICATE_MEMBER: {
    meaning: 'Another process holds the same member id.',
    cause:
      'Two processes were given one `memberId`, or a former process of this member still ' +
      "lives. With `onDuplicate: 'wait'`, the member has waited for the end of that lease.",
    remedy:
      'Give each process an id of its own, or omit `memberId`: the default is random. Use ' +
      "`onDuplicate: 'replace'` if the new process must replace the old one.",
    details:
      '`memberId`, `waitedMs`, and `host` and `startedAt` of the other process, if it gave them.',
  },
  ALREADY_CAMPAIGNING: {
    meaning: 'This member already campaigns for this election, or leads it.',
    cause: 'The program called `campaign` or `lead` a second time on one election of one member.',
    remedy:
      'Keep one call per election and member. A second candidate in one process needs a second ' +
      '`Member`.',
  },
  SUCCESSION_MISMATCH: {
    meaning: 'Earlier candidates of this election use another order of succession.',
    cause:
      'A deployment changes the option `succession` while members with the former order still ' +
      'campaign.',
    remedy: 'Stop all candidates with the former order first, or give the election a new name.',
    details: '`theirs`, `mine`.',
  },
  TERMS_EXHAUSTED: {
    meaning: 'The last term is 2⁶³ − 1, the highest.',
    cause: 'A false `minTerm` or a false term passed to `reportTerm` has raised the terms.',
    remedy:
      'Follow [When terms have risen too far](../operations.md#when-terms-have-risen-too-far).',
    details: '`term`.',
  },
  NO_SUCH_CANDIDATE: {
    meaning:
      'A handover named a member that is not a candidate, or there is no other candidate. The ' +
      'leadership continues.',
    cause:
      'The named member has left, has not joined the queue yet, or is the leader itself. Without ' +
      'a name: nobody else is in the queue. In an election without a store, the message names ' +
      'the cause: for example, the member has not answered the latest heartbeats.',
    remedy:
      'List the candidates with `incumbent candidates`. Omit the name to hand over to the next ' +
      'one, or call `resign()` to stop leading without a successor.',
    details: '`memberId`, `candidates`.',
  },
  HANDOVER_FAILED: {
    meaning:
      'The store has not confirmed a handover after the drain. The leadership has ended, as a ' +
      'resignation unless the successor leads.',
    cause:
      'The successor left the queue during the drain, the lease ended, or the store rejected ' +
      'the swap. Or the answer of the store to the swap was lost. Then the successor may lead, ' +
      'if the store answered no read for a ttl, or may have led, if a third member leads now.',
    remedy:
      'Nothing to repair: the next candidate is elected. Read who leads before you act on the ' +
      'handover.',
    details: '`memberId`, `incarnation`.',
  },
  LEADERSHIP_ENDED: {
    meaning: 'The leadership has ended. The reason of `leadership.signal` has this code, too.',
    cause: 'A call was made on a leadership that is over. `details.reason` says why it ended.',
    remedy:
      'Stop the work. `lead` campaigns again by itself. [Why a leadership ' +
      'ends](events.md#why-a-leadership-ends) lists a remedy for each reason.',
    details:
      'The `LeadershipEnd`: `election`, `term`, `reason`, `lost`, `lastRenewalAt`, ' +
      '`sinceRenewalMs`, `loopBlockedMs`, `errors`, `drainMs`, `seenTerm`.',
  },
  STALE_TERM: {
    meaning: 'A fence has admitted a newer term.',
    cause: 'This process is a former leader, or the store has lost terms that the fence has seen.',
    remedy:
      'Do not write. Inside `lead`, let the error pass: `lead` reports the seen term, and ' +
      'this member then claims only higher terms. The fence also refuses other members that are ' +
      'elected before it with lower terms. By hand, call ' +
      '`leadership.reportTerm(error.details.seen)`.',
    details: '`term`, `seen`.',
  },
  MEMBER_CLOSED: {
    meaning: 'The member was closed.',
    cause: 'The program called `close()` or `shutdown()` while a campaign was pending.',
    remedy:
      'Expected during an orderly stop. A call of `lead` resolves instead of rejecting with ' +
      'this code.',
  },
  OBSERVER_CLOSED: {
    meaning: 'The observer was closed.',
    cause:
      'The program closed an `ElectionObserver` and used it afterwards, or closed it before ' +
      'its first view.',
    remedy: 'Create a new observer.',
  },
  VOTE_NOT_WRITTEN: {
    meaning: 'Without a store: the member could not write its vote to disk, and has ended.',
    cause: 'The disk is full, or the file or its folder is not writable.',
    remedy:
      'Repair the disk and restart the process. A member that continued could vote twice in ' +
      'one term.',
  },
  POSITION_UNKNOWN: {
    meaning:
      'Without a store: the function `position` of the application failed, and the member has ' +
      'ended.',
    cause: '`position` threw. `error.cause` is its error.',
    remedy: 'Repair the function and restart the process.',
  },
  JOIN_FAILED: {
    meaning: 'Without a store: the member found no other members to join, and has ended.',
    cause: 'The seeds are wrong or down, or a firewall blocks the port.',
    remedy:
      'Check the list of seeds and the ports. The event [`seedsFailed`](events.md#seedsfailed) ' +
      'has the underlying error.',
  },
  NOT_ENOUGH_MEMBERS: {
    meaning: 'Without a store: there are fewer members than a leader needs.',
    cause:
      'The member knows fewer other members than the option that sets the minimum size requires.',
    remedy: 'Start more members, or wait for the others to join.',
  },
  MEMBERS_CHANGED: {
    meaning:
      'Without a store: this member voted in a list of members that differs too much from the ' +
      'present one.',
    cause:
      'Several members were added or removed at once, or this member was down during a change. ' +
      'Two leaders could be elected in one term.',
    remedy:
      'Change one member at a time, and let an election happen in between. If that is how the ' +
      'list changed while this member was down, ' +
      '[remove its vote file](../../packages/peer/README.md#remove-a-vote-file).',
    details: '`former`, `members`.',
  },
};
