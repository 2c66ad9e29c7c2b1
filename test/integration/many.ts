/**
 * One member with many elections in a process of its own. It leads them all and reports each.
 * Checks start it.
 */

import { Member, openStore } from 'incumbent';
import { emit } from '@incumbent/test-support/child';
import { weakStore } from '@incumbent/test-support/weak-store';

const [url = 'memory:', memberId = 'many', ttlMs = '5000', count = '1000'] = process.argv.slice(2);

const store = await openStore(url);
const member = new Member(store, { memberId, ttlMs: Number(ttlMs) });
process.once('SIGTERM', () => void member.shutdown({ handover: false }).then(() => store.close()));

let led = 0;
for (let i = 0; i < Number(count); i += 1) {
  void member
    .election(`e${i}`, weakStore(store))
    .lead(async (leadership) => {
      led += 1;
      if (led === Number(count)) emit('allLed');
      const { reason } = await leadership.ended;
      led -= 1;
      emit('lost', { election: `e${i}`, reason });
    })
    .catch((error: unknown) => emit('failed', { error: String(error) }));
}
