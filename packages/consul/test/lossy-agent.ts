/** An agent's HTTP API, of which one request or its answer is lost. */

import { startHttpProxy } from './http-proxy.ts';

/** What is lost of the request whose turn it is: all of it, or its answer alone, after it was served. */
export type Loss = 'request' | 'answer';

export interface LossyAgent extends AsyncDisposable {
  readonly endpoint: string;
  /** The path of what was lost. */
  readonly lost: readonly string[];
  /** From here on writes are counted. */
  arm(): void;
}

/** One of the writes of a kind after `arm`, in their order, from 1. */
export interface Turn {
  /** What its path begins with, behind `/v1/`. */
  readonly kind: string;
  readonly nth: number;
}

/** Passes on to the agent at this address, but for one write. */
export async function startLossyAgent(url: string, { kind, nth }: Turn, loss: Loss): Promise<LossyAgent> {
  let served = 0;
  const lost: string[] = [];
  let isArmed = false;
  const proxy = await startHttpProxy(url, ({ method = '', url: path = '' }) => {
    if (!isArmed || method !== 'PUT' || !path.startsWith(`/v1/${kind}`)) return { kind: 'pass' };
    served += 1;
    if (served !== nth) return { kind: 'pass' };
    lost.push(path);
    return { kind: loss === 'request' ? 'keep' : 'keepAnswer' };
  });
  return {
    endpoint: proxy.endpoint,
    lost,
    arm: () => {
      isArmed = true;
    },
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  };
}
