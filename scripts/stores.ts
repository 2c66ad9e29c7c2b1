/**
 * `pnpm stores`: writes the table of docs/stores.md anew, from what each store says of itself on a
 * real server.
 */

import { writeFileSync } from 'node:fs';
import { columns } from '../test/integration/stores-columns.ts';
import { PAGE, pageOf } from '../test/integration/stores-page.ts';

writeFileSync(PAGE, pageOf(await columns()));
