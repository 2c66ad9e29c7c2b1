import { ask } from '../http.ts';
import type { StoreService } from '../types.ts';

/**
 * A Kubernetes API server behind a proxy that authenticates, as `kubectl proxy` does. Throws if it
 * does not answer.
 */
export async function externalKubernetes(url: string): Promise<StoreService> {
  const answer: unknown = JSON.parse(await ask(`${url}/version`));
  const version = typeof answer === 'object' && answer !== null && 'gitVersion' in answer ? String(answer.gitVersion) : '';
  const ctl = (): Promise<string> => Promise.reject(new Error('the etcd behind this API server is not known'));
  return { url, endpoints: [url], version, ctl };
}
