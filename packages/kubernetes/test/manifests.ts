/** Reads the manifests that users apply. */

import { readFileSync } from 'node:fs';
import { KEYS_GROUP } from '@incumbent/test-support';
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

type RoleRight = Omit<Right, 'namespace'>;

/**
 * The rights of one Role in a file, in its order. Throws if there is not exactly one of this name.
 */
export function roleRights({ role = 'incumbent', file = 'packages/kubernetes/role.yaml' } = {}): readonly RoleRight[] {
  const isMeant = ({ kind, metadata }: Fields): boolean => kind === 'Role' && fields(metadata)['name'] === role;
  const [found, ...others] = manifestsOf(file).filter(isMeant);
  if (found === undefined || others.length > 0) throw new Error(`${file} has not exactly one Role ${role}`);
  return rightsIn(found['rules']);
}

/** The rights that rules of a Role or of a FlowSchema name, in their order. */
export function rightsIn(rules: unknown): readonly RoleRight[] {
  return listOf(rules)
    .map(fields)
    .flatMap(({ apiGroups, resources, verbs }) =>
      listOf(apiGroups).flatMap((group) =>
        listOf(resources).flatMap((resource) =>
          listOf(verbs).map((verb) => ({ group: String(group), resource: String(resource), verb: String(verb) })),
        ),
      ),
    );
}

/**
 * A right in the words of the server for tests, whose types of the core group are in another one.
 */
export function grantOnTestServer({ verb, group, resource }: RoleRight): string {
  return `${verb} ${group === '' ? KEYS_GROUP : group} ${resource} default`;
}
