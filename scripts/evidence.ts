/**
 * `pnpm evidence`: writes docs/verification/README.md from the lines of
 * docs/verification/runs.jsonl.
 */

import { writeFileSync } from 'node:fs';
import { claims } from '../test/integration/evidence/claims.ts';
import { pageOf } from '../test/integration/evidence/page.ts';
import { PAGE, readLines } from '../test/integration/evidence/runs.ts';

writeFileSync(PAGE, pageOf(claims, readLines()));
