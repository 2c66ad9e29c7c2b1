import { isStoreName, type StoreName, type StoreVersion } from '../types.ts';

/** The environment variable with the broker's address. */
export const BROKER = 'INCUMBENT_TEST_BROKER';

/** Requests the run's shared server of a store and, with `ctl`, a run of its command line tool. */
export interface BrokerRequest {
  readonly store: StoreName;
  readonly version: StoreVersion;
  readonly ctl?: readonly string[];
}

export interface BrokerAnswer {
  readonly url: string;
  readonly version: string;
  /** The output of the tool. Empty if no run was requested. */
  readonly output: string;
}

/** Checks the type only, because both ends are processes of one checkout. */
export function isBrokerRequest(value: unknown): value is BrokerRequest {
  return typeof value === 'object' && value !== null && 'store' in value && isStoreName(value.store) && 'version' in value;
}

export function isBrokerAnswer(value: unknown): value is BrokerAnswer {
  return typeof value === 'object' && value !== null && 'url' in value && 'version' in value && 'output' in value;
}
