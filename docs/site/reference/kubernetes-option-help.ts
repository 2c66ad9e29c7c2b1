/** The options of the Kubernetes store and of what it publishes, as in option-help.ts. */

import type {
  KeysResource,
  KubernetesOptions,
  PodLabel,
  PublishOptions,
} from '@incumbent/kubernetes';
import type { OptionTable } from './option-help.ts';
import { clock, connect, connectTimeoutMs, tls } from './store-option-parts.ts';

export const kubernetesOptions: OptionTable<KubernetesOptions> = {
  context: {
    type: 'string',
    fallback: 'the current one if `kubeconfig` is given, else the service account of the pod',
    meaning: 'A context of the kubeconfig: the host of the URL.',
  },
  kubeconfig: {
    type: 'string',
    fallback: '`KUBECONFIG`, or `~/.kube/config`',
    meaning: 'The path of the kubeconfig.',
    parameter: 'kubeconfig',
  },
  server: {
    type: 'string',
    fallback: 'that of the context or of the pod',
    range: '`https://host:port`, or `http://host:port`',
    meaning: 'The API server, in place of a context.',
  },
  token: { type: 'string', fallback: 'none', meaning: 'The bearer token for `server`.' },
  tls: {
    ...tls,
    fallback: 'those that Node trusts',
    meaning: 'Certificates for `server`, by the options [below](#tls).',
  },
  namespace: {
    type: 'string',
    fallback: 'that of the context or of the pod, or `default`',
    range: '1 to 63 characters of `a-z 0-9 -`, with a letter or digit at both ends',
    meaning: 'The namespace of Kubernetes: the first part of the path of the URL.',
  },
  prefix: {
    type: 'string',
    fallback: '`incumbent`',
    range: '1 to 40 characters of `a-z 0-9 -`, with a letter or digit at both ends',
    meaning:
      'The name of the object with the keys, and the beginning of the names of the leases: the ' +
      'second part of the path of the URL.',
  },
  keysResource: {
    type: '{ apiVersion, kind, plural }',
    fallback: '`ConfigMap`',
    meaning:
      'The resource whose objects hold the keys: one with `data`. In the URL ' +
      '`group/version/plural/Kind`.',
    parameter: 'keysResource',
  },
  watchMs: {
    type: 'number',
    fallback: 30_000,
    range: [1_000, 600_000],
    meaning:
      'How long the server may keep a watch open, in ms, rounded up to seconds. A watch reports ' +
      'a silent server within this time and 1 s.',
    parameter: 'watchMs',
  },
  connectTimeoutMs: {
    ...connectTimeoutMs,
    meaning: 'How long opening the store, or one connection, may take, in ms.',
  },
  connect: {
    ...connect,
    type: '(endpoint, signal, tls) => Socket',
    meaning: 'Opens the sockets to the API server, for a tunnel.',
  },
  clock,
};

export const keysResourceOptions: OptionTable<KeysResource> = {
  apiVersion: { type: 'string', meaning: '`v1`, or `group/version`.' },
  kind: { type: 'string', meaning: 'The kind of the objects, such as `ConfigMap`.' },
  plural: { type: 'string', meaning: 'The name in paths, such as `configmaps`.' },
};

export const publishOptions: OptionTable<PublishOptions> = {
  lease: {
    type: 'string',
    range:
      '1 to 200 characters of `a-z 0-9 . -`, with a letter or digit at both ends and on both ' +
      'sides of each dot',
    meaning: 'The name of the `Lease`. No other program may use it to elect a leader.',
  },
  leaseDurationMs: {
    type: 'number',
    fallback: 15_000,
    range: [3_000, 3_600_000],
    meaning:
      'How long tools may take the `Lease` for current after its `renewTime`, in ms, rounded up ' +
      'to whole seconds. The leader renews it three times as often.',
  },
  podLabel: {
    type: '{ name, value, pod }',
    fallback: 'no label',
    meaning: "Labels the leader's pod.",
  },
  events: {
    type: 'boolean',
    fallback: '`false`',
    meaning: 'Whether to create the Events `LeaderElected` and `LeaderLost`.',
  },
  onError: {
    type: '(error: IncumbentError) => unknown',
    meaning: 'Called with the error of each request that failed.',
  },
};

export const podLabelOptions: OptionTable<PodLabel> = {
  name: {
    type: 'string',
    range:
      '1 to 63 characters of `A-Z a-z 0-9 . _ -`, with a letter or digit at both ends, and ' +
      'before it, if you wish, a domain and `/`',
    meaning: 'The name of the label, such as `example.com/leads`. No other election uses it.',
  },
  value: {
    type: 'string',
    range: '1 to 63 characters of `A-Z a-z 0-9 . _ -`, with a letter or digit at both ends',
    meaning: 'The value of the label.',
  },
  pod: {
    type: 'string',
    fallback: 'the host name',
    range: 'the name of a pod',
    meaning: "The name of this process's pod.",
  },
};
