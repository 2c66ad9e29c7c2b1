/** What is shown in the end: who led when, what each act has proven, and whether the promises held. */

import type { Act, History } from './history.ts';
import { lanes } from './lanes.ts';
import { bad, good, ms, quiet, strong, who } from './screen.ts';
import { hasProven, type Finding } from './verdict.ts';

/** Lines of at most 80 columns. */
export function closing(history: History, findings: readonly Finding[]): readonly string[] {
  const broken = findings.filter((finding) => finding.broken.length > 0);
  const verdict = broken.length === 0 ? good(strong('Every promise held.')) : bad(`Promises broken: ${broken.length}.`);
  return [
    '',
    ...lanes(history),
    '',
    ...table(history),
    '',
    ...findings.flatMap(findingLines),
    '',
    `  ${verdict}`,
    quiet('  Each process ran examples/demo/member.ts. Shorter still: pnpm quickstart'),
    '',
  ];
}

const rows: Readonly<Record<Act['name'], readonly [what: string, proven: string]>> = {
  start: ['start', 'one of three leads'],
  SIGKILL: ['SIGKILL', 'the next one leads'],
  SIGSTOP: ['SIGSTOP', 'the late write is refused'],
  handover: ['handover by name', 'the one named leads'],
  SIGTERM: ['SIGTERM', 'no lease had to expire'],
};

function table(history: History): readonly string[] {
  const head = `  ${'act'.padEnd(17)} ${'leader'.padEnd(14)} ${'term'.padStart(5)} ${'vacancy'.padStart(9)}  proven`;
  return [strong(head), quiet(`  ${'─'.repeat(76)}`), ...history.acts.map((act) => row(act, history))];
}

function row(act: Act, history: History): string {
  const { name, from, next, vacancyMs } = act;
  const [what, proven] = rows[name];
  const vacancy = from === undefined ? '–' : ms(vacancyMs);
  const cells = [what.padEnd(17), leaders(from, next?.member), String(next?.term ?? '').padStart(5), vacancy.padStart(9)];
  return `  ${cells.join(' ')}  ${hasProven(history, act) ? proven : bad('nothing: see below')}`;
}

/** Padded by hand: colours have no width. */
function leaders(from: string | undefined, to: string | undefined): string {
  const shown = [from, to ?? 'nobody'].filter((member) => member !== undefined);
  const width = shown.join(' → ').length;
  return shown.map((member) => (member === 'nobody' ? bad(member) : who(member))).join(' → ') + ' '.repeat(Math.max(0, 14 - width));
}

function findingLines({ promise, broken }: Finding): readonly string[] {
  if (broken.length === 0) return [`  ${good('✓')} ${promise}`];
  return [`  ${bad('✗')} ${strong(promise)}`, ...broken.map((how) => `    ${bad(how)}`)];
}
