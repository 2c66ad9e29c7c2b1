/** A key of the store as JSON. */

import { isUtf8 } from 'node:buffer';

import type { Entry } from '@incumbent/core';

export function entryDocument({ key, revision, value }: Entry): object {
  const bytes = Buffer.from(value);
  return { key, revision, ...(isUtf8(bytes) ? { value: bytes.toString('utf8') } : { valueBase64: bytes.toString('base64') }) };
}
