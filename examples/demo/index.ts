/** `pnpm demo`: three processes, one leader, and what happens when it is killed, paused, told to hand over, and stopped. */

import { readArguments, USAGE } from './arguments.ts';
import { run } from './run.ts';

const request = readArguments(process.argv.slice(2), process.platform);
if ('help' in request) console.log(USAGE);
else if ('problem' in request) {
  console.error(`${request.problem}\n\n${USAGE}`);
  process.exitCode = 2;
} else process.exitCode = await run(request.url);
