/** Opens one byte stream. */

import type { Duplex } from 'node:stream';

import { onAbort } from '@incumbent/core/adapter';

import type { Endpoint } from './endpoint.ts';

/**
 * Opens a byte stream by `connect`, which may be the caller's own, and may be slow or ignore its
 * signal. Settles as `connect` does, unless the signal aborts first.
 *
 * @throws The signal's reason, as soon as the signal aborts. A stream that opens later is
 * destroyed.
 */
export async function dial<Stream extends Duplex>(
  connect: (endpoint: Endpoint, signal: AbortSignal) => Stream | Promise<Stream>,
  endpoint: Endpoint,
  signal: AbortSignal,
): Promise<Stream> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Stream>();
  const onOpened = (stream: Stream): void => {
    if (signal.aborted) stream.destroy();
    else resolve(stream);
  };
  const cancel = onAbort(signal, () => reject(signal.reason));
  Promise.resolve()
    .then(() => connect(endpoint, signal))
    .then(onOpened, reject);
  try {
    const stream = await promise;
    // The signal may abort after the stream has opened, and before this continues.
    if (signal.aborted) stream.destroy();
    signal.throwIfAborted();
    return stream;
  } finally {
    cancel();
  }
}
