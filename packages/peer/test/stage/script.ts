/**
 * Scenarios as text: one command per line, and below it, indented, what followed. `node
 * --conditions=@incumbent/source packages/peer/test/stage/script.ts` runs all scenarios in
 * packages/peer/scenarios and rewrites their results. A test runs and compares them.
 */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { algorithmOf, names, type Options } from '../best-effort/algorithms.ts';
import { Stage } from './stage.ts';
import { tell } from './tell.ts';

const FOLDER: URL = new URL('../../scenarios/', import.meta.url);
const LATENCY_MS = 1;
const TIMES = { failureTimeoutMs: 1_000, heartbeatEveryMs: 200, answerTimeoutMs: 100 };
const SETTLES_WITHIN_MS = 60_000;

export function scenarios(): readonly string[] {
  return readdirSync(FOLDER).filter((name) => name.endsWith('.txt'));
}

export function textOf(name: string): string {
  return readFileSync(new URL(name, FOLDER), 'utf8');
}

/** The text, with the current results of its commands. */
export function play(text: string): string {
  const [played, lines]: [Played, string[]] = [new Played(), []];
  for (const line of text.split('\n')) {
    if (line.startsWith('  ')) continue;
    lines.push(line);
    if (line !== '' && !line.startsWith('#')) lines.push(...played.obey(line).map((output) => `  ${output}`));
  }
  return lines.join('\n');
}

class Played {
  #stage: Stage | undefined;
  #sides: readonly (readonly string[])[] = [];

  /** What follows. */
  obey(line: string): readonly string[] {
    const [command = '', ...words] = line.split(' ');
    if (command === 'cluster') return this.#cluster(words);
    const stage = this.#stage;
    if (stage === undefined) throw new Error('a scenario begins with its cluster');
    const [first = '', second = ''] = words;
    switch (command) {
      case 'start':
        for (const id of words) stage.start(id);
        return [];
      case 'crash':
        stage.crash(first);
        return [];
      case 'unheard': // what the first one says to the second one is lost
        stage.lose((from, to) => from === first && to === second);
        return [];
      case 'part': // by sides: 1 2 | 3 4
        this.#part(
          words
            .join(' ')
            .split('|')
            .map((side) => side.trim().split(' ')),
        );
        return [];
      case 'heal':
        this.#sides = [];
        stage.heal();
        return [];
      case 'pass':
        return this.#outputOf(stage, () => stage.pass(Number(first)));
      case 'agree': // until in each part one leads, and all of it see that
        return this.#outputOf(stage, () => stage.until(() => this.#parts(stage).every((part) => stage.agree(part)), SETTLES_WITHIN_MS));
      case 'quietly': // the same, and only the output at its end
        return this.obey(words.join(' ')).slice(-1);
      default:
        throw new Error(`no such command: ${command}`);
    }
  }

  #cluster([name = '', ...words]: readonly string[]): readonly string[] {
    const chosen = names.find((one) => one === name);
    if (chosen === undefined) throw new Error(`no such election: ${name}`);
    const members = words.filter((word) => !word.includes('='));
    const given = words.filter((word) => word.includes('=')).map((word) => word.split('='));
    const options = Object.fromEntries(given.map(([key = '', value = '']) => [key, valueOf(key, value)]));
    const all: Options = { ...TIMES, ...options, members };
    this.#stage = new Stage(algorithmOf(chosen, all), LATENCY_MS);
    return [];
  }

  #part(sides: readonly (readonly string[])[]): void {
    this.#sides = sides;
    const sideOf = (id: string): number => sides.findIndex((side) => side.includes(id));
    this.#stage?.lose((from, to) => sideOf(from) !== sideOf(to));
  }

  #parts(stage: Stage): readonly (readonly string[])[] {
    return this.#sides.length === 0 ? [stage.up] : this.#sides.map((side) => side.filter((id) => stage.up.includes(id)));
  }

  #outputOf(stage: Stage, happen: () => void): readonly string[] {
    const from = stage.lines.length;
    happen();
    const lines = stage.lines.slice(from);
    const sinceMs = lines.find((line) => tell([line], 0).length > 0)?.atMs ?? stage.nowMs;
    const views = stage.up
      .toSorted()
      .map((id) => (stage.leaders.includes(id) ? `${id} leads` : `${id} follows ${stage.sees(id) ?? 'nobody'}`));
    return [...tell(lines, sinceMs), views.join(', ')];
  }
}

function valueOf(key: string, value: string): unknown {
  if (key === 'candidates') return value.split(',');
  return key === 'variant' ? value : Number(value);
}

if (import.meta.main) {
  for (const name of scenarios()) writeFileSync(new URL(name, FOLDER), play(textOf(name)));
}
