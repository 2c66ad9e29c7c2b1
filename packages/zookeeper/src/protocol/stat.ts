/** What a server knows of a node besides its data. */

import type { Reader, Writer } from './jute.ts';

export interface Stat {
  /** The transaction that made the node. Never the same for two. */
  readonly czxid: bigint;
  /** The transaction that last changed its data. */
  readonly mzxid: bigint;
  /** How often its data was changed. Begins anew at 0 when the node is made again. */
  readonly version: number;
  /** How often its children came and went. */
  readonly cversion: number;
  /** The session that it lives by; 0 for none. */
  readonly ephemeralOwner: bigint;
  readonly dataLength: number;
  readonly numChildren: number;
  /** The transaction that last added or removed a child. */
  readonly pzxid: bigint;
}

export function readStat(reader: Reader): Stat {
  const [czxid, mzxid] = [reader.long(), reader.long()];
  // The server's wall clock at the making and at the last change: nothing here goes by it.
  reader.long();
  reader.long();
  const [version, cversion] = [reader.int(), reader.int()];
  // How often its ACL was changed.
  reader.int();
  const [ephemeralOwner, dataLength, numChildren, pzxid] = [reader.long(), reader.int(), reader.int(), reader.long()];
  return { czxid, mzxid, version, cversion, ephemeralOwner, dataLength, numChildren, pzxid };
}

/** As a server writes it, for servers that tests play. */
export function writeStat(writer: Writer, stat: Stat): Writer {
  writer.long(stat.czxid).long(stat.mzxid).long(0n).long(0n).int(stat.version).int(stat.cversion).int(0);
  return writer.long(stat.ephemeralOwner).int(stat.dataLength).int(stat.numChildren).long(stat.pzxid);
}
