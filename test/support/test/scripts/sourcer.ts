// Tells where the servers of this store would come from.
import { emit } from '@incumbent/test-support/child';

import { stores } from '../../src/servers/stores.ts';
import { isStoreName } from '../../src/servers/types.ts';

const [store] = process.argv.slice(2);
if (!isStoreName(store)) throw new TypeError('name a store');
emit('source', { what: (await stores[store].source('default')).what });
