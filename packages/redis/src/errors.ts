/**
 * Maps what an exchange ran into to codes and outcomes. No other file does this. A comment gives
 * the reason of each mapping. The outcome is `refused` or `notSent` only if that is certain; every
 * other error is `unknown`.
 */

import { StoreError } from '@incumbent/core/adapter';
import {
  judgeCommon,
  judgeNotConnected,
  mildestOf,
  type MissingPermission,
  storeErrorOf,
  UNFORESEEN,
  type Verdict,
  verdictsOf,
  withGrant,
} from '@incumbent/network';

import type { Keyspace } from './namespace.ts';
import { ExchangeError, HELLO_REFUSED } from './protocol/failure.ts';
import type { ErrorReply } from './protocol/resp.ts';

const verdictOn = verdictsOf(ExchangeError, judge);

/** The error to throw for whatever a call ran into. `method` names the call, for the message. */
export function toStoreError(error: unknown, method: string): StoreError {
  return storeErrorOf(error, `redis ${method}`, verdictOn);
}

/**
 * What a user lacks that may access the keys, and not use these commands. Without both `PUBLISH`
 * and `SUBSCRIBE`, the user lacks the channel.
 */
export function missingCommands(commands: readonly string[], keyspace: Keyspace): MissingPermission {
  const lacksChannel = ['publish', 'subscribe'].every((command) => commands.includes(command));
  return missingRules([...(lacksChannel ? [`&${keyspace.tag}*`] : []), ...commands.map((command) => `+${command}`)], keyspace);
}

/** The error of a request that Redis's access list denied, with the grant. Others are unchanged. */
export function withAclGrant(error: unknown, keyspace: Keyspace): unknown {
  if (!(error instanceof StoreError) || !error.message.includes('NOPERM')) return error;
  const [, command] = /'([\w|-]+)' command/.exec(error.message) ?? [];
  if (command !== undefined) return withGrant(error, () => missingCommands([command], keyspace));
  const kind = /channel/.test(error.message) ? '&' : '~';
  return withGrant(error, () => missingRules([`${kind}${keyspace.tag}*`], keyspace));
}

/**
 * The error of a Sentinel that denied what the store asks. `user` is the user of the Sentinels, who
 * may differ from the user of the servers. Each Sentinel has an access list of its own.
 */
export function sentinelDenied(message: string, user: string, cause: unknown): unknown {
  const error = new StoreError('PERMISSION_DENIED', 'refused', `redis: ${message}: permit it to the user "${user}" of each Sentinel`, {
    cause,
  });
  const right = '+hello +sentinel|get-master-addr-by-name';
  return withGrant(error, () => ({ right, keys: [], grant: `ACL SETUSER ${user} ${right}` }));
}

/**
 * Names only the rules that are missing: Redis refuses a statement that adds a pattern to a user
 * who may access every key.
 */
function missingRules(rules: readonly string[], { tag, user }: Keyspace): MissingPermission {
  return { right: rules.join(' '), keys: [`${tag}*`], grant: ['ACL SETUSER', user, ...rules].join(' ') };
}

/** Of several servers' errors, the error after which a retry is most likely to succeed. */
export function mildestError(errors: readonly unknown[]): unknown {
  return mildestOf(errors, verdictOn);
}

function judge({ failure, cause }: ExchangeError): Verdict {
  switch (failure.kind) {
    case 'notConnected':
      return judgeNotConnected(failure, cause, judgeGreeting);
    case 'answer':
      return judgeAnswer(failure.answer.code, failure.answer.text);
    default:
      return judgeCommon(failure);
  }
}

/** An error answer to a request of the greeting, which changes nothing. */
function judgeGreeting({ code, text }: ErrorReply): Verdict {
  // The options have a password, and the server has none.
  if (/^ERR AUTH\b/.test(text)) return ['UNAUTHENTICATED', 'refused'];
  if (/max number of clients/.test(text)) return ['UNAVAILABLE', 'notSent'];
  // Versions before 6 do not have HELLO, and a server's configuration may rename it.
  if (code === 'NOPROTO' || text === HELLO_REFUSED || /unknown command/i.test(text)) return ['UNSUPPORTED', 'refused'];
  // Protected mode: the server accepts connections from its own machine only.
  if (code === 'DENIED') return ['PERMISSION_DENIED', 'refused'];
  // The check's script itself failed, as it would every time.
  if (code === 'ERR' && isOfScript(text)) return ['UNSUPPORTED', 'refused'];
  return code === 'ERR' ? ['STORE_FAILED', 'notSent'] : judgeAnswer(code, text);
}

/** Whether a command within a script raised the error. */
function isOfScript(text: string): boolean {
  return /\bscript: [0-9a-f]{40}\b/.test(text);
}

function judgeAnswer(code: string, text: string): Verdict {
  // A command within a script raised the error, so the script may have changed something before.
  if (isOfScript(text)) return [code === 'NOPERM' ? 'PERMISSION_DENIED' : 'STORE_FAILED', 'unknown'];
  switch (code) {
    case 'NOAUTH':
    case 'WRONGPASS':
      return ['UNAUTHENTICATED', 'refused'];
    case 'NOPERM':
      return ['PERMISSION_DENIED', 'refused'];
    case 'LOADING':
    case 'BUSY':
    case 'MASTERDOWN':
    case 'CLUSTERDOWN':
    case 'TRYAGAIN':
      // The server refuses every request: it is loading its data, runs another script, or its
      // cluster is incomplete.
      return ['UNAVAILABLE', 'notSent'];
    case 'READONLY':
    case 'MOVED':
    case 'ASK':
      // Another server accepts the writes. The next call looks for it.
      return ['UNAVAILABLE', 'notSent'];
    case 'OOM':
    case 'MISCONF':
    case 'NOREPLICAS':
      // The memory is full, the disk fails, or replicas are missing. The server checks this before
      // a script begins.
      return ['UNAVAILABLE', 'refused'];
    default:
      return UNFORESEEN;
  }
}
