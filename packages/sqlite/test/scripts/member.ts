/**
 * A member that leads whenever it can, and emits that it leads. Its arguments: the file, its id,
 * and the ttl in ms.
 */

import { Member } from '@incumbent/core';
import { openSqlite } from '@incumbent/sqlite';
import { emit } from '@incumbent/test-support/child';

const [file = '', memberId = '', ttl = ''] = process.argv.slice(2);
const store = await openSqlite({ file });
const member = new Member(store, { memberId, ttlMs: Number(ttl) });
emit('ready');
await member.election('controller').lead(async (leadership) => {
  emit('elected', { term: leadership.term });
  const saying = setInterval(() => void (leadership.isValid() && emit('valid')), 10);
  const { reason } = await leadership.ended;
  clearInterval(saying);
  emit('ended', { reason });
});
