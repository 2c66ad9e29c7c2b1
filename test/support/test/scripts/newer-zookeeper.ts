/** Starts a newer ZooKeeper and prints the version that serves. */

import { startZookeeper } from '../../src/index.ts';

await using server = await startZookeeper({ version: 'newer' });
console.log(server.version);
