/**
 * Why a server refuses the greeting, in words of this package. The server's own text is never passed on: a server that does not know the
 * command answers with its arguments, which are the user and the password.
 */

import { ErrorReply } from '../protocol/resp.ts';

/** The beginnings of answers, and what replaces them. The code, their first word, stays. */
const KNOWN: readonly (readonly [RegExp, string])[] = [
  [/^WRONGPASS\b/, 'WRONGPASS the user or the password is wrong, or the user is disabled'],
  [/^NOAUTH\b/, 'NOAUTH the server asks for a password'],
  [/^ERR (?:AUTH|Client sent AUTH)\b/, 'ERR AUTH was sent to a server that has no password'],
  [/^NOPERM\b/, 'NOPERM this user may not use the command HELLO'],
  [/^DENIED\b/, 'DENIED the server is in protected mode: it serves its own machine alone'],
  [/^NOPROTO\b/, 'NOPROTO the server does not speak version 3 of the protocol'],
  [/^ERR unknown command\b/i, 'ERR unknown command HELLO: the server is older than version 6, or its configuration renames the command'],
  [/^ERR max number of clients\b/, 'ERR max number of clients reached'],
  [/^LOADING\b/, 'LOADING the server reads what it keeps'],
  [/^BUSY\b/, 'BUSY the server runs a script'],
  [/^MASTERDOWN\b/, 'MASTERDOWN the replica has lost its master'],
  [/^CLUSTERDOWN\b/, 'CLUSTERDOWN the cluster is not whole'],
  [/^TRYAGAIN\b/, 'TRYAGAIN the server asks to try again'],
  [/^READONLY\b/, 'READONLY the server takes no writes'],
  [/^ERR\b/, 'ERR the server refused the command HELLO'],
];

export function refusalOf({ text }: ErrorReply): ErrorReply {
  const [, words] = KNOWN.find(([beginning]) => beginning.test(text)) ?? [];
  return new ErrorReply(words ?? 'the server refused the command HELLO');
}
