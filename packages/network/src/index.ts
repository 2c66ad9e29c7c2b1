export { accessOf, optionsIn } from './access.ts';
export {
  Allowance,
  AnswersTooLarge,
  MAX_ANSWER_BYTES,
  MAX_GREETING_BYTES,
  PART_BYTES,
  type Share,
  SharedAllowance,
  TinyPieces,
} from './allowance.ts';
export { Attempt, type AttemptOptions, type Over, type OverError } from './attempt.ts';
export { ByteBuffer, free } from './byte-buffer.ts';
export { CallTime } from './call-time.ts';
export { Deframer, type Framing } from './deframer.ts';
export { endpointName, isLoopback, parseEndpoint, parseEndpoints, type Endpoint } from './endpoint.ts';
export { pace } from './pace.ts';
export { revocationOf } from './revocation.ts';
export { connectSocket, type Connect, type SocketOptions } from './socket.ts';
export { StoreUrl, type StoreUrlShape } from './store-url.ts';
export { certificatesOf, checkTls, readsFiles, type Pem, type PemFile, type TlsOptions } from './tls.ts';
export { describeError, errorCode, isDistrust, judgeSocket, type Verdict } from './verdict.ts';
