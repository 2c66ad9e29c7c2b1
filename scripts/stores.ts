/**
 * `pnpm stores`: updates the table of docs/stores.md with the capabilities of each store on a real
 * server.
 */

import { writeFileSync } from 'node:fs';
import { columns } from '../test/integration/stores-columns.ts';
import { PAGE, pageOf } from '../test/integration/stores-page.ts';

writeFileSync(PAGE, pageOf(await columns()));
