/** The memory of long records. */

import { duplexPair } from 'node:stream';

import { SharedAllowance } from '@incumbent/network';
import { expect, it } from 'vitest';

import { Channel } from '../../src/connection/channel.ts';
import { frame } from '../../src/protocol/frame.ts';

it('a long record that its receiver rejects is freed at once', async () => {
  const [client, server] = duplexPair();
  const channel = new Channel(client, new SharedAllowance());
  channel.acceptLongRecords();
  const records: Uint8Array[] = [];
  channel.receive({
    record: (record) => {
      records.push(record);
      throw new Error('not understood');
    },
  });
  server.on('error', () => {});
  const bytes = frame(new Uint8Array(1_000_000));
  // In two chunks: a record within one chunk is a view of memory that the system provided.
  server.write(bytes.subarray(0, 500_000));
  server.write(bytes.subarray(500_000));
  expect(await channel.ended).toMatchObject({ failure: { kind: 'malformed' } });
  expect(records.map(({ length }) => length)).toEqual([0]);
});
