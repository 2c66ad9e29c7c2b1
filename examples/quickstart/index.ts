import { Member, openStore } from 'incumbent';

const store = await openStore(process.argv[2] ?? 'memory:'); // or sqlite:./state.db, etcd://127.0.0.1:2379/my-app
const member = new Member(store, { memberId: `broker-${process.pid}`, ttlMs: 5_000 });
const controller = member.election('controller', { value: { pid: process.pid } });
member.shutdownOn('SIGTERM', 'SIGINT'); // hands over to the next in line; lead then resolves

await controller.lead(async (leadership) => {
  console.log(`${member.memberId} leads in term ${leadership.term}`);
  for (const partition of ['p0', 'p1', 'p2']) {
    if (!leadership.isValid()) return; // synchronous, true only while nobody else can be valid
    const change = { key: `assignments/${leadership.term}/${partition}`, expect: null, put: Buffer.from(member.memberId) };
    const { swapped } = await leadership.swap([change]); // rejects once a newer term has begun, whatever this process assumes
    console.log(swapped ? `assigned ${partition} in term ${leadership.term}` : `${partition} was assigned before`);
  }
}); // returning resigns; a lost leadership aborts leadership.signal and campaigns again

await member.close();
await store.close();
