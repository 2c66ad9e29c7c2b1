import { Option } from 'commander';

import { doctor, type DoctorOptions } from '../doctor/doctor.ts';
import { parseDuration } from '../duration.ts';
import { handover, type HandoverOptions } from '../verbs/handover.ts';
import { lowerTermUnsafely, type LowerTermOptions } from '../verbs/lower-term-unsafely.ts';
import { resign, type ResignOptions } from '../verbs/resign.ts';
import { parseTerm } from '../verbs/term.ts';
import { examples, onStore, type Shell } from './common.ts';

/** The verbs of an operator. */
export function addOperating({ root, surroundings, end }: Shell): void {
  onStore(root.command('resign <election>'))
    .description('Make the present leader step down: it stops its work first, and joins the queue again at its end')
    .option('--term <term>', 'only if it leads in this term', (text) => parseTerm(text))
    .addOption(timeout('how long to wait until it has let go'))
    .addHelpText('after', examples('incumbent resign db', 'incumbent resign db --term 7'))
    .action((name: string, options: ResignOptions) => end(resign(name, options, surroundings)));

  onStore(root.command('handover <election>'))
    .description('Ask the present leader to hand over to a candidate, and wait until that one leads')
    .requiredOption('--to <member>', 'the candidate that is to lead')
    .option('--term <term>', 'only if the present leader leads in this term', (text) => parseTerm(text))
    .addOption(timeout('how long to wait before the request is taken back'))
    .addHelpText('after', examples('incumbent handover db --to web-2'))
    .action((name: string, options: HandoverOptions) => end(handover(name, options, surroundings)));

  onStore(root.command('lower-term-unsafely <election>'))
    .description('Replace the last term by a lower one, after a wrong one has used up the terms: resets no fence')
    .requiredOption('--from <term>', 'the last term, as status shows it', (text) => parseTerm(text, '--from'))
    .requiredOption('--to <term>', 'the term in its place: the next leader has the one above it', (text) => parseTerm(text, '--to'))
    .addHelpText('after', LOWER_TERM_HELP)
    .action((name: string, options: LowerTermOptions) => end(lowerTermUnsafely(name, options, surroundings)));

  onStore(root.command('doctor'))
    .description('Examine the store: what would go wrong, before it does')
    .option('--ttl <duration>', 'the ttl that elections are to have (default: 15s)', (text) => parseDuration('--ttl', text))
    .option('--json', 'lines of JSON')
    .addHelpText(
      'after',
      `\nIt writes below one key of its own, and removes that: elections/doctor-….\n${examples('incumbent doctor', 'incumbent doctor --ttl 5s --json')}`,
    )
    .action((options: DoctorOptions) => end(doctor(options, surroundings)));
}

const LOWER_TERM_HELP = `
Terms above --to are issued a second time. Before this, correct the option that raised the terms, and
restart the members that have it. After it, reset each fence that has seen a term above --to: until
then that fence refuses the new leaders, or admits a late write of a former one. A leader stops, as
after resign.
${examples('incumbent lower-term-unsafely db --from 9223372036854775807 --to 41')}`;

function timeout(what: string): Option {
  return new Option('--timeout <duration>', what).argParser((text) => parseDuration('--timeout', text)).default(30_000, '30s');
}
