/** Leader election over the Kubernetes API: `openKubernetes`, `publishLeader` and their options. */

export type { Endpoint, Pem, PemFile, TlsOptions } from '@incumbent/network';
export type { Connect } from './client/connections.ts';
export type { KeysResource } from './names.ts';
export { openKubernetes } from './open.ts';
export type { KubernetesOptions } from './options.ts';
export type { PodLabel, PublishOptions } from './publish/options.ts';
export { publishLeader, type LeaderPublisher } from './publish/publish-leader.ts';
