/** Several operations in one request: reads, or changes that are applied all or not at all. */

import { Code } from './codes.ts';
import { MalformedRecord, type Reader, type Writer } from './jute.ts';
import {
  readData,
  readStat,
  writeCreate,
  writeSetData,
  writeVersioned,
  type CreateRequest,
  type Data,
  type SetDataRequest,
  type Stat,
  type Versioned,
} from './nodes.ts';
import type { Operation } from './operation.ts';

/**
 * One change of a `multi`. `check` holds if the node has that version, or exists for `ANY_VERSION`.
 */
export type Part =
  | { readonly create: CreateRequest }
  | { readonly setData: SetDataRequest }
  | { readonly delete: Versioned }
  | { readonly check: Versioned };

/**
 * The answer to one change: the path for a `create`, the stat for a `setData` and, if the server
 * sends it, for a `create`.
 */
interface PartAnswer {
  readonly path?: string;
  readonly stat?: Stat;
}

export type MultiAnswer =
  | { readonly done: true; readonly parts: readonly PartAnswer[] }
  /**
   * Nothing happened. `failed` is the index of the first part that failed, and `code` the reason.
   * The server did not check the parts after it.
   */
  | { readonly done: false; readonly failed: number; readonly code: number };

/** One read of a `multiRead`: of a node's data, or of the names of its children. */
export type ReadPart = { readonly data: string } | { readonly children: string };

/** The answer to one read. `code`: why the server refused it. */
export type ReadAnswer = { readonly data: Data } | { readonly children: readonly string[] } | { readonly code: number } | typeof ABSENT;

/** There is no such node. */
export const ABSENT: { readonly absent: true } = { absent: true };

const Type = { create: 1, delete: 2, getData: 4, setData: 5, getChildren: 8, check: 13, create2: 15, error: -1 } as const;

/** The type and the code in the header that ends the parts. */
const NO_TYPE = -1;
const NO_CODE = -1;

type Result = PartAnswer | { readonly code: number };

function writeHeader(writer: Writer, type: number): Writer {
  return writer.int(type).bool(false).int(NO_CODE);
}

function writeParts<T>(writer: Writer, parts: readonly T[], writePart: (writer: Writer, part: T) => void): void {
  for (const part of parts) writePart(writer, part);
  writer.int(NO_TYPE).bool(true).int(NO_CODE);
}

function readParts<T>(reader: Reader, readPart: (reader: Reader, type: number) => T): readonly T[] {
  const parts: T[] = [];
  for (;;) {
    const [type, done] = [reader.int(), reader.bool()];
    reader.int();
    if (done) return parts;
    parts.push(readPart(reader, type));
  }
}

function unknownType(type: number): MalformedRecord {
  return new MalformedRecord(`no part of an answer has the type ${type}`);
}

function writeChange(writer: Writer, part: Part): void {
  if ('create' in part) writeCreate(writeHeader(writer, Type.create2), part.create);
  else if ('setData' in part) writeSetData(writeHeader(writer, Type.setData), part.setData);
  else if ('delete' in part) writeVersioned(writeHeader(writer, Type.delete), part.delete);
  else writeVersioned(writeHeader(writer, Type.check), part.check);
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
      throw unknownType(type);
  }
}

function writeRead(writer: Writer, part: ReadPart): void {
  if ('data' in part) writeHeader(writer, Type.getData).string(part.data).bool(false);
  else writeHeader(writer, Type.getChildren).string(part.children).bool(false);
}

function readAnswer(reader: Reader, type: number): ReadAnswer {
  switch (type) {
    case Type.getData:
      return { data: readData(reader) };
    case Type.getChildren:
      return { children: reader.vector((one) => one.string()) };
    case Type.error: {
      const code = reader.int();
      return code === Code.NONODE ? ABSENT : { code };
    }
    default:
      throw unknownType(type);
  }
}

function codeOf(result: Result | undefined): number {
  return result !== undefined && 'code' in result ? result.code : Code.OK;
}

// In a failed multi, the parts that would have succeeded answer with an error of the code OK. A
// multi that succeeded has no errors.
function partOf(result: Result): PartAnswer {
  if ('code' in result) throw new MalformedRecord('the answer has failed parts, and none that says why');
  return result;
}

/**
 * Applies all changes, or none. At least one part. A part sees what the parts before it changed.
 */
export const multi: Operation<readonly Part[], MultiAnswer> = {
  name: 'multi',
  type: 14,
  encode: (writer, parts) => writeParts(writer, parts, writeChange),
  decode: (reader) => {
    const results = readParts(reader, readResult);
    const failed = results.findIndex((result) => codeOf(result) !== Code.OK);
    if (failed === -1) return { done: true, parts: results.map((result) => partOf(result)) };
    return { done: false, failed, code: codeOf(results[failed]) };
  },
};

/** Reads several nodes at one server, with one answer per part in the same order. From 3.6 on. */
export const multiRead: Operation<readonly ReadPart[], readonly ReadAnswer[]> = {
  name: 'multiRead',
  type: 22,
  encode: (writer, parts) => writeParts(writer, parts, writeRead),
  decode: (reader) => readParts(reader, readAnswer),
};
