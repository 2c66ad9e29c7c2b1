export { accessOf, optionsIn } from './access.ts';
export { Attempt, type AttemptOptions, type Over, type OverError } from './attempt.ts';
export { CallTime } from './call-time.ts';
export { endpointName, parseEndpoint, parseEndpoints, type Endpoint } from './endpoint.ts';
export { revocationOf } from './revocation.ts';
export { connectSocket, type Connect, type SocketOptions } from './socket.ts';
export { StoreUrl, type StoreUrlShape } from './store-url.ts';
export { certificatesOf, checkTls, type TlsOptions } from './tls.ts';
export { describeError, errorCode, isDistrust, judgeSocket, type Verdict } from './verdict.ts';
