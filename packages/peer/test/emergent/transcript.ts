/**
 * Runs transcripts: texts that contain commands and everything that follows from them. A line that
 * begins with `>` is a command. The indented lines below it list what happened until the next
 * command, in order: messages, lists and leaderships. Heartbeats and the messages of the periodic
 * pull are left out. All other lines are prose.
 */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Cluster } from './cluster.ts';

const FOLDER = new URL('../../scenarios/emergent/', import.meta.url);

/** The names of all transcripts of members that come and go. */
export function transcripts(): readonly string[] {
  return readdirSync(FOLDER);
}

export function textOf(name: string): string {
  return readFileSync(new URL(name, FOLDER), 'utf8');
}

/** What the text is when what it does is done. */
export async function replay(text: string): Promise<string> {
  const facts: string[] = [];
  const stage = new Stage((what) => facts.push(what));
  const lines: string[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('    ')) continue;
    lines.push(line);
    if (!line.startsWith('> ')) continue;
    await stage.perform(line.slice(2));
    lines.push(...facts.splice(0).map((fact) => `    ${fact}`));
  }
  await stage.close();
  return lines.join('\n');
}

const quiet = /: (?:heartbeat \d+|pull|current)(?:, lost)?$/;

class Stage {
  #cluster: Cluster | undefined;
  readonly #report: (what: string) => void;

  constructor(report: (what: string) => void) {
    this.#report = (what) => {
      if (!quiet.test(what)) report(what);
    };
  }

  /** Clauses, one after the other, with a semicolon between them. */
  async perform(clauses: string): Promise<void> {
    for (const clause of clauses.split('; ')) await this.#do(clause.split(' '));
  }

  async close(): Promise<void> {
    const cluster = this.#cluster;
    for (const player of cluster?.players.values() ?? []) player.crashed = true;
    await cluster?.[Symbol.asyncDispose]();
  }

  async #do([command, ...words]: readonly string[]): Promise<void> {
    if (command === 'seeds') {
      this.#cluster = new Cluster({ seeds: words, heartbeatEveryMs: 1_000, failureTimeoutMs: 5_000, searchEveryMs: 2_000 }, this.#report);
      return;
    }
    const cluster = this.#cluster;
    if (cluster === undefined) throw new Error('a transcript begins with its seeds');
    if (command === 'start') words.map((id) => cluster.start(id));
    else if (command === 'wait') await cluster.pass(Number(words[0]));
    else if (command === 'crash') cluster.crash(...words);
    else if (command === 'leave') await cluster.leave(...words);
    else if (command === 'lose')
      cluster.isLost = (from, to, { type }) => from === words[0] && to === words[1] && (words[2] === undefined || words[2] === type);
    else if (command === 'split')
      cluster.split(
        ...words
          .join(' ')
          .split(' | ')
          .map((side) => side.split(' ')),
      );
    else if (command === 'heal') cluster.heal();
    else throw new Error(`no such command: ${command}`);
  }
}

if (import.meta.main) for (const name of transcripts()) writeFileSync(new URL(name, FOLDER), await replay(textOf(name)));
