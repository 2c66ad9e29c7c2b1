/** `pnpm demo`: five brokers whose controller is killed, paused, handed over and restarted. */

import { readArguments, USAGE } from './demo/arguments.ts';
import { run } from './demo/run.ts';

const request = readArguments(process.argv.slice(2), process.platform);
if ('help' in request) console.log(USAGE);
else if ('problem' in request) {
  console.error(`${request.problem}\n\n${USAGE}`);
  process.exitCode = 2;
} else process.exitCode = await run(request);
