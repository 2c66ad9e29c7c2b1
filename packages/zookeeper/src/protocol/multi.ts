/** Several changes at once: all of them, or none. */

import { Code } from './codes.ts';
import { MalformedRecord, type Reader, type Writer } from './jute.ts';
import { writeCreate, writeSetData, writeVersioned, type CreateRequest, type SetDataRequest, type Versioned } from './nodes.ts';
import type { Operation } from './operation.ts';
import { readStat, type Stat } from './stat.ts';

/** `check` holds where the node has that version, and exists where it is `ANY_VERSION`. */
export type Part =
  | { readonly create: CreateRequest }
  | { readonly setData: SetDataRequest }
  | { readonly delete: Versioned }
  | { readonly check: Versioned };

/** What became of one part. The path stands for a `create`, the stat for a `setData`; for a `create` too where the server says it. */
interface PartAnswer {
  readonly path?: string;
  readonly stat?: Stat;
}

export type MultiAnswer =
  | { readonly done: true; readonly parts: readonly PartAnswer[] }
  /**
   * Nothing was done. `failed` is the first part that could not be, for the reason `code`. The parts before it could have been; those after
   * it were not looked at.
   */
  | { readonly done: false; readonly failed: number; readonly code: number };

const Type = { create: 1, delete: 2, setData: 5, check: 13, create2: 15, error: -1 } as const;

/** Written where the parts end. */
const NO_TYPE = -1;
const NO_CODE = -1;

type Result = PartAnswer | { readonly code: number };

function writeHeader(writer: Writer, type: number, done: boolean): Writer {
  return writer.int(type).bool(done).int(NO_CODE);
}

function writePart(writer: Writer, part: Part): void {
  if ('create' in part) writeCreate(writeHeader(writer, Type.create2, false), part.create);
  else if ('setData' in part) writeSetData(writeHeader(writer, Type.setData, false), part.setData);
  else if ('delete' in part) writeVersioned(writeHeader(writer, Type.delete, false), part.delete);
  else writeVersioned(writeHeader(writer, Type.check, false), part.check);
}

function readResult(reader: Reader, type: number): Result {
  switch (type) {
    case Type.create:
      return { path: reader.string() };
    case Type.create2:
      return { path: reader.string(), stat: readStat(reader) };
    case Type.setData:
      return { stat: readStat(reader) };
    case Type.delete:
    case Type.check:
      return {};
    case Type.error:
      return { code: reader.int() };
    default:
      throw new MalformedRecord(`no part of an answer has the type ${type}`);
  }
}

function readResults(reader: Reader): readonly Result[] {
  const results: Result[] = [];
  for (;;) {
    const [type, done] = [reader.int(), reader.bool()];
    reader.int();
    if (done) return results;
    results.push(readResult(reader, type));
  }
}

function codeOf(result: Result | undefined): number {
  return result !== undefined && 'code' in result ? result.code : Code.OK;
}

// Parts of a failed whole that could have been done answer with an error of OK; a whole has none.
function partOf(result: Result): PartAnswer {
  if ('code' in result) throw new MalformedRecord('the answer has failed parts, and none that says why');
  return result;
}

/** At least one part. Of a node that is changed twice, the second part sees what the first one did. */
export const multi: Operation<readonly Part[], MultiAnswer> = {
  name: 'multi',
  type: 14,
  encode: (writer, parts) => {
    for (const part of parts) writePart(writer, part);
    writeHeader(writer, NO_TYPE, true);
  },
  decode: (reader) => {
    const results = readResults(reader);
    const failed = results.findIndex((result) => codeOf(result) !== Code.OK);
    if (failed === -1) return { done: true, parts: results.map((result) => partOf(result)) };
    return { done: false, failed, code: codeOf(results[failed]) };
  },
};
