import type { Faults, OwnServer } from '../types.ts';

export interface KubernetesOptions {
  /** Additional flags of the API server. */
  readonly flags?: readonly string[];
}

/**
 * An API server for this process alone, and the etcd behind it. It serves `leases` of
 * `coordination.k8s.io/v1` and, because it has no types of its own, `configmaps`, `pods` and
 * `events` of {@link KEYS_GROUP} in the namespace `default`, which need not exist. `ctl` runs
 * etcdctl on the etcd behind it.
 */
export interface KubernetesServer extends OwnServer {
  /** A kubeconfig whose contexts are `admin`, by a token, and `certified`, by a certificate. */
  readonly kubeconfig: string;
  /** The authority of the server's certificate, in PEM. */
  readonly ca: string;
  /** The token of a user with all rights, and of one whose rights are those of {@link grant}. */
  readonly tokens: { readonly admin: string; readonly member: string };
  /** The faults of the etcd behind the server. */
  readonly etcd: Faults;
  /** Gives the member these rights and no others, each as `verb group resource namespace`. */
  grant(rights: readonly string[]): Promise<void>;
  /** Sends one request as the administrator. */
  call(method: string, path: string, body?: unknown): Promise<ApiAnswer>;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** The group whose `configmaps`, `pods` and `events` stand in for the built-in ones. */
export const KEYS_GROUP = 'test.incumbent.example';
