/**
 * The closing report: who was the controller when, what each act cost, and whether the guarantees
 * held.
 */

import { type Act, type History, refusalCounts } from './history.ts';
import { lanes } from './lanes.ts';
import { bad, good, ms, quiet, strong, who } from './screen.ts';
import { type Finding, gapsIn, lost } from './verdict.ts';

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
    ...totals(history),
    '',
    ...findings.flatMap(findingLines),
    '',
    `  ${verdict}`,
    quiet('  The brokers are examples/kafka-controller. Shorter still: pnpm quickstart'),
    '',
  ];
}

function table(history: History): readonly string[] {
  const head = `  ${'act'.padEnd(24)} ${'controller'.padEnd(10)} ${'term'.padStart(4)} ${'vacant'.padStart(9)}   leaderless partitions`;
  return [strong(head), quiet(`  ${'─'.repeat(78)}`), ...history.acts.map((act) => row(act, history))];
}

function row(act: Act, history: History): string {
  const { name, from, next, vacancyMs } = act;
  const vacancy = from === undefined ? '–' : ms(vacancyMs);
  const controller = next === undefined ? bad('nobody'.padEnd(10)) : who(next.broker, next.broker.padEnd(10));
  const cells = [name.padEnd(24), controller, String(next?.term ?? '').padStart(4), vacancy.padStart(9)];
  return `  ${cells.join(' ')}   ${from === undefined ? '–' : without(act, history)}`;
}

function without(act: Act, history: History): string {
  const gaps = gapsIn(history, act);
  const partitions = new Set(gaps.map(({ partition }) => partition)).size;
  return partitions === 0 ? 'none' : `${partitions}, at most ${ms(Math.max(...gaps.map(({ from, to }) => to - from)))} each`;
}

/** The counts of clients and fences. */
function totals(history: History): readonly string[] {
  const { acknowledged, read } = history.messages;
  const refused = refusalCounts(history.heard);
  const missing = lost(history).length;
  return [
    `  ${'messages acknowledged'.padEnd(24)} ${acknowledged.length.toLocaleString('en')}`,
    `  ${'messages lost'.padEnd(24)} ${missing === 0 ? good('0') : bad(String(missing))}`,
    `  ${'messages sent twice'.padEnd(24)} ${read.length - new Set(read).size}`,
    `  ${'stale writes refused'.padEnd(24)} ${refused.store + refused.broker + refused.replica}: ${refused.store} by the store, ${refused.broker} by brokers, ${refused.replica} by replicas`,
  ];
}

function findingLines({ promise, broken }: Finding): readonly string[] {
  if (broken.length === 0) return [`  ${good('✓')} ${promise}`];
  return [`  ${bad('✗')} ${strong(promise)}`, ...broken.map((how) => `    ${bad(how)}`)];
}
