/** Ends a session of another owner. */

import type { Random, TimedCall } from '@incumbent/core';
import { checkCall } from '@incumbent/core/adapter';
import { Attempt, describeError, type Endpoint } from '@incumbent/network';

import type { Channel } from '../connection/channel.ts';
import { shuffled, tryInTurn, type DialOptions } from '../connection/dialer.ts';
import { shakeHands } from '../connection/handshake.ts';
import { answeredWith, ExchangeError } from '../errors.ts';
import { Code } from '../protocol/codes.ts';
import { readHeader, requestHeader } from '../protocol/frame.ts';
import type { SessionIdentity } from '../protocol/hello.ts';
import { MalformedRecord, Reader } from '../protocol/jute.ts';
import { closeSession } from '../protocol/nodes.ts';

export interface EndSessionOptions extends DialOptions {
  readonly random: Random;
  readonly endpoints: readonly Endpoint[];
  /** How long the session may last without a sign of life, in ms, if the call does not end it. */
  readonly timeoutMs: number;
  /**
   * The last transaction that this client has seen. A server that is behind it closes the
   * connection. Without it, such a server may answer that a live session does not exist, because
   * it has not learned of the session. Default 0.
   */
  readonly lastZxid?: bigint;
}

const XID = 1;

/**
 * An owner that is alive notices that its session was taken over, and takes it back. Rarely it does
 * so before the server has read the request that ends the session.
 */
const ROUNDS = 3;

/**
 * Ends a session on the servers, whoever owns it. When this resolves, the session and its ephemeral
 * nodes are gone. A session that does not exist is not an error. A wrong password is none either,
 * because servers do not tell the two apart; it ends nothing. The request is sent together with the
 * hello, to every server at most three times: ending a session twice does no harm. Rejects with the
 * signal's reason, or with an {@link ExchangeError}.
 */
export async function endSession(options: EndSessionOptions, identity: SessionIdentity, call: TimedCall): Promise<void> {
  checkCall(call);
  call.signal?.throwIfAborted();
  const attempt = new Attempt(options.clock, call, ExchangeError);
  try {
    for (let round = 1; round <= ROUNDS; round += 1) {
      if (await endsInOneRound(options, identity, attempt, round === ROUNDS)) return;
    }
  } finally {
    attempt.end();
  }
}

/** False if another round may succeed. Never false in the last round. */
async function endsInOneRound(options: EndSessionOptions, identity: SessionIdentity, attempt: Attempt, last: boolean): Promise<boolean> {
  try {
    await tryInTurn(shuffled(options.endpoints, options.random), options, attempt.signal, (channel) => {
      attempt.sent = true;
      return takeOverAndEnd(channel, options, identity);
    });
    return true;
  } catch (error) {
    attempt.signal.throwIfAborted();
    if (isGone(error)) return true;
    const unknown = attempt.sent && mayHaveArrived(error);
    if (unknown && !last) return false;
    throw unknown ? asUnknown(error) : error;
  }
}

async function takeOverAndEnd(channel: Channel, { timeoutMs, lastZxid = 0n }: EndSessionOptions, identity: SessionIdentity): Promise<void> {
  const last = requestHeader(XID, closeSession.type).finish();
  try {
    await shakeHands(channel, { identity, timeoutMs, lastZxid, auths: [], last });
    const code = codeIn(await channel.next());
    if (code !== Code.OK) throw answeredWith(code);
  } finally {
    channel.destroy(new ExchangeError({ kind: 'closed', sent: true }, 'the session was ended'));
  }
}

/** The code of the answer. Throws an `ExchangeError` (`malformed`). */
function codeIn(record: Uint8Array): number {
  try {
    const { xid, code } = readHeader(new Reader(record));
    if (xid === XID) return code;
    throw new MalformedRecord(`an answer to ${xid} came where one to ${XID} belongs`);
  } catch (error) {
    throw new ExchangeError({ kind: 'malformed' }, describeError(error), error);
  }
}

function isGone(error: unknown): boolean {
  if (!(error instanceof ExchangeError)) return false;
  const { failure } = error;
  return failure.kind === 'expired' || (failure.kind === 'code' && failure.code === Code.SESSIONEXPIRED);
}

// The request went out with the hello, so a server may have it although the handshake failed. A
// server that is not ZooKeeper cannot have understood it.
function mayHaveArrived(error: unknown): error is ExchangeError {
  if (!(error instanceof ExchangeError)) return false;
  const { failure } = error;
  return failure.kind === 'cut' || (failure.kind === 'notConnected' && failure.why !== 'foreign');
}

function asUnknown(error: ExchangeError): ExchangeError {
  return new ExchangeError({ kind: 'cut' }, error.message, error);
}
