/** `pnpm reference`: writes the generated pages of docs/reference. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { referencePages } from '../docs/site/reference/pages.ts';

for (const { path, text } of referencePages()) writeFileSync(join(import.meta.dirname, '../docs', path), text);
