/**
 * A copy of a JSON schema without room for fields of later versions: a field that an object does
 * not list is an error.
 */
export function closed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closed);
  if (typeof part !== 'object' || part === null) return part;
  const entries = Object.entries(part).map(([name, value]) => [name, closed(value)] as const);
  const isObject = 'type' in part && part.type === 'object' && 'properties' in part;
  return Object.fromEntries(isObject ? [...entries, ['additionalProperties', false]] : entries);
}
