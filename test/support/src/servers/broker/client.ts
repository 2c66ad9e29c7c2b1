import { setting } from '../../settings.ts';
import { ask } from '../http.ts';
import { BROKER, isBrokerAnswer, type BrokerAnswer, type BrokerRequest } from './messages.ts';

/** The first request may wait for a download. */
const ASK_MS = 180_000;

export function hasBroker(): boolean {
  return setting(BROKER) !== undefined;
}

/** Asks the process that holds this run's shared servers. */
export async function askBroker(request: BrokerRequest): Promise<BrokerAnswer> {
  const url = setting(BROKER);
  if (url === undefined) throw new Error(`${BROKER} is not set`);
  const answer: unknown = JSON.parse(await ask(url, { method: 'POST', body: JSON.stringify(request), timeoutMs: ASK_MS }));
  if (!isBrokerAnswer(answer)) throw new Error('the broker of shared servers answered something else');
  return answer;
}
