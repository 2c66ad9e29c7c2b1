/** A program that waits for a store that is not there, and gives up after the second attempt. */

import { openStore } from 'incumbent';

const stop = new AbortController();
let tries = 0;
const onRetry = (): void => {
  tries += 1;
  if (tries === 2) stop.abort();
};
await openStore('redis://app:hunter2@127.0.0.1:1/my-app', { waitMs: 60_000, onRetry, signal: stop.signal }).catch(() => {});
