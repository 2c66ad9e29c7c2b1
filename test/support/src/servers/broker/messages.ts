import { isStoreName, type StoreName, type StoreVersion } from '../types.ts';

/** The environment variable with the broker's address. */
export const BROKER = 'INCUMBENT_TEST_BROKER';

/**
 * Asks for the run's shared server of a store, and, with `ctl`, for a run of its command line tool.
 */
export interface BrokerRequest {
  readonly store: StoreName;
  readonly version: StoreVersion;
  readonly ctl?: readonly string[];
}

export interface BrokerAnswer {
  readonly url: string;
  readonly version: string;
  /** What the tool printed; empty where it was not asked for. */
  readonly output: string;
}

/**
 * Between processes of one checkout: the shape is taken for granted, that it is one of these is
 * not.
 */
export function isBrokerRequest(value: unknown): value is BrokerRequest {
  return typeof value === 'object' && value !== null && 'store' in value && isStoreName(value.store) && 'version' in value;
}

export function isBrokerAnswer(value: unknown): value is BrokerAnswer {
  return typeof value === 'object' && value !== null && 'url' in value && 'version' in value && 'output' in value;
}
