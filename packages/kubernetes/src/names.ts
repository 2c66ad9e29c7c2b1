/** Names and paths of the objects of one store. */

import { randomBytes } from 'node:crypto';

import type { LeaseId } from '@incumbent/core';

/** A type of objects of Kubernetes. */
export interface Resource {
  /** `v1`, or `group/version`. */
  readonly apiVersion: string;
  readonly kind: string;
  /** The name in paths: `configmaps`. */
  readonly plural: string;
}

/** The resource whose objects hold the keys. */
export type KeysResource = Resource;

export const CONFIG_MAPS: Resource = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' };
export const LEASES: Resource = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', plural: 'leases' };
export const PODS: Resource = { apiVersion: 'v1', kind: 'Pod', plural: 'pods' };
export const EVENTS: Resource = { apiVersion: 'v1', kind: 'Event', plural: 'events' };

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

/** The path of all objects of a resource in one namespace. */
export function collectionPath(namespace: string, { apiVersion, plural }: Resource): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return `${root}/namespaces/${namespace}/${plural}`;
}

export function keysPath({ namespace, keys }: Names): string {
  return collectionPath(namespace, keys);
}

export function leasesPath({ namespace }: Names): string {
  return collectionPath(namespace, LEASES);
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
