/**
 * One run in a process of its own, with or without a bug, and the checker's verdict. Arguments: the
 * store, the faults, the seed, a folder, and the Node options of its members.
 */

import { emit } from '@incumbent/test-support/child';
import { judge } from '../check/verdict.ts';
import { run } from '../run.ts';
import { isStoreName } from '../site/index.ts';

const MINUTES = 0.6;

const [store = '', only = '', seed = '1', folder = '.', memberOptions = ''] = process.argv.slice(2);
if (!isStoreName(store)) throw new RangeError(`no such store: ${store}`);
const { history } = await run({
  store,
  version: 'default',
  forgets: false,
  minutes: MINUTES,
  seed: Number(seed),
  only: only.split(','),
  folder,
  memberEnv: memberOptions === '' ? {} : { NODE_OPTIONS: memberOptions },
  say: (line) => process.stderr.write(`${line}\n`),
});
const [first] = judge(history).violations;
emit('judged', first === undefined ? {} : { ...first, afterMs: Math.round(first.at) });
process.exit(0);
