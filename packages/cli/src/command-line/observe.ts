import { candidates, type CandidatesOptions } from '../verbs/candidates.ts';
import { leader, type LeaderOptions } from '../verbs/leader.ts';
import { status, type StatusOptions } from '../verbs/status.ts';
import { watch, type WatchOptions } from '../verbs/watch.ts';
import { examples, onStore, type Shell } from './common.ts';

/** The verbs that only look. */
export function addObserving({ root, surroundings, end }: Shell): void {
  onStore(root.command('leader <election>'))
    .description('Print who leads; exit with 1 if nobody does')
    .option('--json', 'one line of JSON')
    .addHelpText('after', examples('incumbent leader db', 'incumbent leader db --json | jq -r .term'))
    .action((name: string, options: LeaderOptions) => end(leader(name, options, surroundings)));

  onStore(root.command('watch <election>'))
    .description('Print a line whenever who leads has changed')
    .option('--json', 'lines of JSON')
    .addHelpText('after', examples('incumbent watch db', `incumbent watch db --json | jq -c '[.at, .state, .memberId, .term]'`))
    .action((name: string, options: WatchOptions) => end(watch(name, options, surroundings)));

  onStore(root.command('candidates <election>'))
    .description('Print who leads and who waits, in the order in which they would lead; exit with 1 if there is nobody')
    .option('--json', 'lines of JSON')
    .addHelpText('after', examples('incumbent candidates db'))
    .action((name: string, options: CandidatesOptions) => end(candidates(name, options, surroundings)));

  onStore(root.command('status [elections...]'))
    .description('Print every election of the namespace, or those named')
    .option('--json', 'lines of JSON')
    .addHelpText('after', examples('incumbent status', 'incumbent status db cron'))
    .action((names: readonly string[], options: StatusOptions) => end(status(names, options, surroundings)));
}
