/** A program that leads once. */

import { Member, openStore } from 'incumbent';

const store = await openStore('memory:');
const member = new Member(store);
await member.election('once').lead(() => {});
await member.close();
await store.close();
