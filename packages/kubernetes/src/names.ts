/** Names and paths of the objects of one store. */

import { randomBytes } from 'node:crypto';

import type { LeaseId } from '@incumbent/core';

/** The resource whose objects hold the keys. */
export interface KeysResource {
  /** `v1`, or `group/version`. */
  readonly apiVersion: string;
  readonly kind: string;
  /** The name in paths: `configmaps`. */
  readonly plural: string;
}

export const CONFIG_MAPS: KeysResource = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' };

/** The label of every object of a store. Its value is the prefix. */
export const LABEL = 'incumbent/prefix';

export interface Names {
  /** Of Kubernetes. */
  readonly namespace: string;
  readonly prefix: string;
  readonly keys: KeysResource;
}

/** The name of the object with the keys. */
export function keysName({ prefix }: Names): string {
  return prefix;
}

export function keysPath({ namespace, keys: { apiVersion, plural } }: Names): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return `${root}/namespaces/${namespace}/${plural}`;
}

export function leasesPath({ namespace }: Names): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
}

/** A new name of a Lease object. Never used twice. */
export function newLeaseName({ prefix }: Names): string {
  return `${prefix}-${randomBytes(8).toString('hex')}`;
}

/** A lease is one object: its name, and its uid in case somebody creates another of that name. */
export interface LeaseName {
  readonly name: string;
  readonly uid: string;
}

export function leaseIdOf({ name, uid }: LeaseName): LeaseId {
  return `${name}/${uid}`;
}

/** Undefined for an id that no store has made. */
export function readLeaseId(lease: LeaseId): LeaseName | undefined {
  const [, name, uid] = /^([a-z0-9][a-z0-9.-]*)\/([A-Za-z0-9-]+)$/.exec(lease) ?? [];
  return name === undefined || uid === undefined ? undefined : { name, uid };
}
