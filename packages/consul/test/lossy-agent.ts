/** A proxy in front of an agent that loses one write, or its response. */

import { startHttpProxy } from './http-proxy.ts';

/** What is lost: the request, or only its response after the agent has served it. */
export type Loss = 'request' | 'response';

export interface LossyAgent extends AsyncDisposable {
  readonly endpoint: string;
  /** The path of the lost request. */
  readonly lost: readonly string[];
  /** Starts counting the writes. */
  arm(): void;
}

/** One write after `arm`. */
export interface WriteNumber {
  /** The beginning of its path, after `/v1/`. */
  readonly kind: string;
  /** Its number among the writes of this kind, from 1. */
  readonly nth: number;
}

/** Forwards everything but this write to the agent at this address. */
export async function startLossyAgent(url: string, { kind, nth }: WriteNumber, loss: Loss): Promise<LossyAgent> {
  let served = 0;
  const lost: string[] = [];
  let isArmed = false;
  const proxy = await startHttpProxy(url, ({ method = '', url: path = '' }) => {
    if (!isArmed || method !== 'PUT' || !path.startsWith(`/v1/${kind}`)) return { kind: 'forward' };
    served += 1;
    if (served !== nth) return { kind: 'forward' };
    lost.push(path);
    return { kind: loss === 'request' ? 'drop' : 'dropResponse' };
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
