/** A process that does nothing, to be measured against: JavaScript, as to read TypeScript takes memory. */

import { writeSync } from 'node:fs';

setInterval(() => {}, 2 ** 30);
writeSync(1, `${JSON.stringify({ event: 'there', at: '0' })}\n`);
