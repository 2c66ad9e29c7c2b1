/** Reads the manifests that users apply. */

import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';

import type { Right } from '../src/client/failure.ts';
import { fields, type Fields } from '../src/objects/json.ts';

/** The objects in a file of the repository. */
export function manifestsOf(file: string): readonly Fields[] {
  const text = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');
  const documents = parseAllDocuments(text, { uniqueKeys: true });
  return documents.map((document) => {
    if ('errors' in document && document.errors.length > 0) throw new Error(`${file}: ${document.errors.join('; ')}`);
    return fields(document.toJS());
  });
}

export function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError(`${JSON.stringify(value)} is no list`);
  return value;
}

/** The rights of the Role in a file, in its order. Throws if there is not exactly one Role. */
export function roleRights(file = 'packages/kubernetes/role.yaml'): readonly Omit<Right, 'namespace'>[] {
  const [role, ...others] = manifestsOf(file).filter(({ kind }) => kind === 'Role');
  if (role === undefined || others.length > 0) throw new Error(`${file} has not exactly one Role`);
  return listOf(role['rules'])
    .map(fields)
    .flatMap(({ apiGroups, resources, verbs }) =>
      listOf(apiGroups).flatMap((group) =>
        listOf(resources).flatMap((resource) =>
          listOf(verbs).map((verb) => ({ group: String(group), resource: String(resource), verb: String(verb) })),
        ),
      ),
    );
}

/** The rights of `role.yaml` on what the store itself uses. */
export function storeRights(): ReturnType<typeof roleRights> {
  return roleRights().filter(({ resource }) => resource === 'configmaps' || resource === 'leases');
}
