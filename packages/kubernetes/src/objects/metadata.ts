/** What every object of Kubernetes has. */

import { fields, text, type Fields } from './json.ts';

/** Identifies one object and one state of it. */
export interface Identity {
  /** Never the same for two objects, also of one name. */
  readonly uid: string;
  /** Changes with every change of the object. Opaque. */
  readonly version: string;
}

export function identityOf(object: Fields): Identity {
  const metadata = fields(object['metadata']);
  return { uid: text(metadata, 'uid'), version: text(metadata, 'resourceVersion') };
}

export function nameOf(object: Fields): string {
  return text(fields(object['metadata']), 'name');
}

/**
 * The metadata for a change of the object. Both the uid and the version remain as preconditions. In
 * `managedFields`, the server keeps a name for each key. These names double the size of an object
 * of many keys and take a part of the server's own limit. An empty entry removes them.
 */
export function metadataForChange(object: Fields): Fields {
  return { ...fields(object['metadata']), managedFields: [{}] };
}
