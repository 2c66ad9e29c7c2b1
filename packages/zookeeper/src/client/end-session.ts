/** The end of somebody else's session. */

import type { CallOptions, Random } from '@incumbent/core';
import { checkCall } from '@incumbent/core/adapter';
import { Attempt, type Endpoint } from '@incumbent/network';

import { shuffled } from '../connection/backoff.ts';
import type { Channel } from '../connection/channel.ts';
import { Code } from '../protocol/codes.ts';
import { greet, type GreetOptions } from '../connection/dial.ts';
import { answeredWith, callOver, ExchangeError } from '../connection/failure.ts';
import { shakeHands, type SessionIdentity } from '../connection/handshake.ts';
import { readHeader, requestHeader } from '../protocol/header.ts';
import { Reader } from '../protocol/jute.ts';
import { closeSession } from '../protocol/nodes.ts';
import { tryInTurn } from '../connection/dialer.ts';

export interface EndOptions extends GreetOptions {
  readonly random: Random;
  readonly endpoints: readonly Endpoint[];
  /** How long the session may last without a sign of life, in ms, should it not end. */
  readonly timeoutMs: number;
}

const XID = 1;

/** An owner who lives notices that the session was taken over, and takes it back; rarely so fast that the end was not heard yet. */
const ROUNDS = 3;

/**
 * Ends a session on the servers, whoever has it: when this resolves it is gone, and all that lived by it. One that there is not is no error; nor, as
 * servers do not tell the two apart, is a wrong password, which ends nothing. Asked in one breath with the greeting, of every server three times at
 * most: to be ended twice does a session no harm. Rejects with the signal's reason, or an {@link ExchangeError}.
 */
export async function endSession(options: EndOptions, identity: SessionIdentity, call: CallOptions): Promise<void> {
  checkCall(call);
  call.signal?.throwIfAborted();
  const attempt = new Attempt(options.clock, call, callOver);
  try {
    for (let left = ROUNDS - 1; !(await endsInOneRound(options, identity, attempt, left === 0)); left -= 1);
  } finally {
    attempt.end();
  }
}

/** False where another round may do better. */
async function endsInOneRound(options: EndOptions, identity: SessionIdentity, attempt: Attempt, last: boolean): Promise<boolean> {
  try {
    await tryInTurn(shuffled(options.endpoints, options.random), options, attempt.signal, (opened) =>
      greet(opened, options, attempt.signal, (channel) => {
        attempt.sent = true;
        return takeOverAndEnd(channel, options.timeoutMs, identity);
      }),
    );
    return true;
  } catch (error) {
    attempt.signal.throwIfAborted();
    if (isGone(error)) return true;
    const unknown = attempt.sent && mayHaveHeard(error);
    if (unknown && !last) return false;
    throw unknown ? asUnknown(error) : error;
  }
}

async function takeOverAndEnd(channel: Channel, timeoutMs: number, identity: SessionIdentity): Promise<void> {
  const last = requestHeader(XID, closeSession.type).finish();
  await shakeHands(channel, { identity, timeoutMs, lastZxid: 0n, auths: [], last });
  const { xid, code } = readHeader(new Reader(await channel.next()));
  channel.destroy(new ExchangeError({ kind: 'closed', sent: true }, 'the session was ended'));
  if (xid !== XID) throw new ExchangeError({ kind: 'malformed' }, `an answer to ${xid} came where one to ${XID} belongs`);
  if (code !== Code.OK) throw answeredWith(code);
}

function isGone(error: unknown): boolean {
  if (!(error instanceof ExchangeError)) return false;
  const { failure } = error;
  return failure.kind === 'expired' || (failure.kind === 'code' && failure.code === Code.SESSIONEXPIRED);
}

// What was said along with the greeting, whatever came of the greeting; but not by what is no ZooKeeper.
function mayHaveHeard(error: unknown): error is ExchangeError {
  if (!(error instanceof ExchangeError)) return false;
  const { failure } = error;
  return failure.kind === 'cut' || (failure.kind === 'notConnected' && failure.why !== 'foreign');
}

function asUnknown(error: ExchangeError): ExchangeError {
  return new ExchangeError({ kind: 'cut' }, error.message, error);
}
