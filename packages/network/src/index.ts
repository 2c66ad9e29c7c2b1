export {
  Allowance,
  AnswersTooLarge,
  checkPieces,
  MAX_ANSWER_BYTES,
  MAX_GREETING_BYTES,
  PART_BYTES,
  type Share,
  SharedAllowance,
  TinyPieces,
} from './bytes/allowance.ts';
export { ByteBuffer, free } from './bytes/byte-buffer.ts';
export { Deframer, type Framing } from './bytes/deframer.ts';
export { pace } from './bytes/pace.ts';
export { Attempt, type AttemptOptions } from './calls/attempt.ts';
export { CallTime } from './calls/call-time.ts';
export { Calls } from './calls/calls.ts';
export { CheckedCalls, type CheckedCallsOptions } from './calls/checked-calls.ts';
export { type CommonFailure, FailedExchange, type Over, type OverErrorClass } from './calls/exchange-error.ts';
export { type ReadBatch, ReadBatcher, type ReadBatcherOptions, type ReadQuery } from './calls/read-batcher.ts';
export { RetryGate } from './calls/retry-gate.ts';
export {
  DIAL_TIMEOUT_MS,
  dialTimeoutMs,
  FIRST_RECONNECT_PAUSE_MS,
  GRACE_MS,
  LONGEST_RECONNECT_PAUSE_MS,
  MAX_MESSAGE_MS,
  PROVE_EVERY_MS,
  PROVE_WITHIN_MS,
  REREAD_MS,
} from './calls/timing.ts';
export { dial } from './connect/dial.ts';
export { endpointName, isLoopback, parseEndpoint, parseEndpoints, startingAt, type Endpoint } from './connect/endpoint.ts';
export { openFirst, type OpenFirstOptions } from './connect/open-first.ts';
export { connectSocket, type Connect, freeChunk, FREED_CHUNK_BYTES, type SocketOptions, untilEvent } from './connect/socket.ts';
export { certificatesOf, checkTls, readsFiles, type Pem, type PemFile, tlsConnectOptions, type TlsOptions } from './connect/tls.ts';
export {
  type ConnectAttempt,
  judgeNotConnected,
  namingEndpoint,
  type NotConnected,
  type NotConnectedReason,
  ofServer,
} from './errors/not-connected.ts';
export { type MissingPermission, namingGrant, withGrant } from './errors/permission.ts';
export {
  checkSwapSize,
  checkValueSize,
  closedMeanwhile,
  endsWatch,
  type HttpFailure,
  judgeCommon,
  judgeHttp,
  keyTaken,
  leaseGone,
  mildestOf,
  storeClosed,
  storeErrorOf,
  tooLarge,
  UNFORESEEN,
  verdictsOf,
} from './errors/store-errors.ts';
export { describeError, errorCode, isDistrust, judgeSocket, type Verdict } from './errors/verdict.ts';
export { LeaseObserver, type ObservedStore } from './observed-leases/lease-observer.ts';
export { ObservedLease, type LeaseView } from './observed-leases/observed-lease.ts';
export { accessOf, optionsIn, plainTls } from './options/access.ts';
export { type Given, omitUndefined } from './options/omit-undefined.ts';
export { revocationOf } from './options/revocation.ts';
export {
  checkCredentials,
  checkTlsIsUsed,
  type OpenSocket,
  readSharedOptions,
  type SharedOptions,
  type SharedOptionsShape,
  type SharedSettings,
  type UserCredentials,
} from './options/store-options.ts';
export { StoreUrl, type StoreUrlShape } from './options/store-url.ts';
export { type ReadableWatch, WatchReader } from './watches/watch-reader.ts';
export { WatchRegistry } from './watches/watch-registry.ts';
