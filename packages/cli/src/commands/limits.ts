/** `incumbent limits`: what the SDK itself allows, on every store. */

import {
  MAX_ADMITTED,
  MAX_FLOOR,
  MAX_NAME_CHARACTERS,
  MAX_TERM,
  MAX_TTL_MS,
  MAX_VALUE_DEPTH,
  MIN_TTL_MS,
  PRIORITY_RANGE,
} from '@incumbent/core/adapter';

import { showDuration } from '../common/duration.ts';
import { examples, type CommandParent } from '../common/options.ts';
import { type LimitLine, printJson } from '../common/output.ts';
import type { CliContext } from '../context.ts';
import { Exit, EXIT_MEANINGS } from '../exit.ts';

interface LimitsOptions {
  readonly json?: boolean;
}

export function addLimits({ root, context, end }: CommandParent): void {
  root
    .command('limits')
    .summary('list the limits of names, ttls, values and terms')
    .description('List the limits of names, ttls, published values and terms that hold on every store. Needs no store.')
    .option('--json', 'print one line of JSON per limit; terms are strings')
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', `\n${STORE_LIMITS}`)
    .addHelpText('after', `\nExit codes:\n  0  done\n  2  ${EXIT_MEANINGS[Exit.USAGE]}`)
    .addHelpText('after', examples('incumbent limits', `incumbent limits --json | jq 'select(.limit == "ttl").max'`))
    .action((options: LimitsOptions) => end(limits(options, context)));
}

const STORE_LIMITS = `Every store has limits of its own: for the ttl, the size of a value, the keys of
a lease. incumbent doctor lists them.`;

const LIMITS: readonly Omit<LimitLine, 'type'>[] = [
  { limit: 'name', what: 'name of an election, group or member', min: 1, max: MAX_NAME_CHARACTERS, unit: 'characters' },
  { limit: 'ttl', what: 'ttl', min: MIN_TTL_MS, max: MAX_TTL_MS, unit: 'ms' },
  { limit: 'valueDepth', what: 'nesting of a published value', max: MAX_VALUE_DEPTH, unit: 'levels' },
  { limit: 'candidates', what: 'candidates of an election', unit: 'candidates' },
  { limit: 'priority', what: 'priority of a candidate', ...PRIORITY_RANGE, unit: 'rank' },
  { limit: 'term', what: 'term', min: '1', max: String(MAX_TERM), unit: 'term' },
  { limit: 'minTerm', what: 'minTerm, a lowered or reported term', min: '1', max: String(MAX_FLOOR), unit: 'term' },
  { limit: 'fenceTerm', what: 'term that a fence admits', min: '1', max: String(MAX_ADMITTED), unit: 'term' },
];

async function limits({ json }: LimitsOptions, { out }: CliContext): Promise<number> {
  if (json === true) {
    for (const limit of LIMITS) printJson(out, { type: 'limit', ...limit });
    return Exit.OK;
  }
  out.table([['LIMIT', 'ALLOWED'], ...LIMITS.map((limit) => [limit.what, allowed(limit)])]);
  out.line('');
  for (const line of STORE_LIMITS.split('\n')) out.line(line);
  return Exit.OK;
}

function allowed({ min, max, unit }: Omit<LimitLine, 'type'>): string {
  if (max === undefined) return 'any number';
  const [from, to] = [min, max].map((bound) => (unit === 'ms' && typeof bound === 'number' ? showDuration(bound) : bound));
  const suffix = unit === 'characters' ? ' characters: A-Z a-z 0-9 . _ -' : unit === 'levels' ? ' levels' : '';
  return `${from === undefined ? 'up to' : `${from} to`} ${to}${suffix}`;
}
