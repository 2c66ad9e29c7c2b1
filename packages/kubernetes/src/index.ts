/** Leader election over the Kubernetes API: `openKubernetes` and its options. */

export type { Endpoint, Pem, PemFile, TlsOptions } from '@incumbent/network';
export type { Connect } from './client/connections.ts';
export type { KeysResource } from './names.ts';
export { openKubernetes } from './open.ts';
export type { KubernetesOptions } from './options.ts';
