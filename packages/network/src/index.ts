export { accessOf, optionsIn } from './options/access.ts';
export {
  Allowance,
  AnswersTooLarge,
  MAX_ANSWER_BYTES,
  MAX_GREETING_BYTES,
  PART_BYTES,
  type Share,
  SharedAllowance,
  TinyPieces,
} from './bytes/allowance.ts';
export { Attempt, type AttemptOptions, type Over, type OverError } from './calls/attempt.ts';
export { ByteBuffer, free } from './bytes/byte-buffer.ts';
export { CallTime } from './calls/call-time.ts';
export { Deframer, type Framing } from './bytes/deframer.ts';
export { endpointName, isLoopback, parseEndpoint, parseEndpoints, type Endpoint } from './connect/endpoint.ts';
export { pace } from './bytes/pace.ts';
export { revocationOf } from './options/revocation.ts';
export { connectSocket, type Connect, type SocketOptions } from './connect/socket.ts';
export { StoreUrl, type StoreUrlShape } from './options/store-url.ts';
export { certificatesOf, checkTls, readsFiles, type Pem, type PemFile, type TlsOptions } from './connect/tls.ts';
export { describeError, errorCode, isDistrust, judgeSocket, type Verdict } from './errors/verdict.ts';
