/** Several reads in one request, answered by one server. From 3.6 on. */

import { Code } from './codes.ts';
import { MalformedRecord, type Reader, type Writer } from './jute.ts';
import { readData, type Data } from './nodes.ts';
import type { Operation } from './operation.ts';

/** The node's data, or the names of its children. */
export type ReadPart = { readonly data: string } | { readonly children: string };

/** `code`: why the server does not tell. */
export type ReadAnswer = { readonly data: Data } | { readonly children: readonly string[] } | { readonly code: number } | typeof ABSENT;

/** There is no such node. */
export const ABSENT: { readonly absent: true } = { absent: true };

const Type = { getData: 4, getChildren: 8, error: -1 } as const;

/** Written where the parts end. */
const NO_TYPE = -1;
const NO_CODE = -1;

function writeHeader(writer: Writer, type: number, done: boolean): Writer {
  return writer.int(type).bool(done).int(NO_CODE);
}

function writePart(writer: Writer, part: ReadPart): void {
  if ('data' in part) writeHeader(writer, Type.getData, false).string(part.data).bool(false);
  else writeHeader(writer, Type.getChildren, false).string(part.children).bool(false);
}

function readPart(reader: Reader, type: number): ReadAnswer {
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
      throw new MalformedRecord(`no part of an answer has the type ${type}`);
  }
}

/** At least one part; as many answers, in the same order. */
export const multiRead: Operation<readonly ReadPart[], readonly ReadAnswer[]> = {
  name: 'multiRead',
  type: 22,
  encode: (writer, parts) => {
    for (const part of parts) writePart(writer, part);
    writeHeader(writer, NO_TYPE, true);
  },
  decode: (reader) => {
    const answers: ReadAnswer[] = [];
    for (;;) {
      const [type, done] = [reader.int(), reader.bool()];
      reader.int();
      if (done) return answers;
      answers.push(readPart(reader, type));
    }
  },
};
