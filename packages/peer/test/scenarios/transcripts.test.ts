import { describe, expect, it } from 'vitest';
import { Nodes } from './nodes.ts';
import { transcripts } from './transcripts.ts';

/** Executes one line of a transcript. */
function perform(nodes: Nodes, commands: string): void {
  for (const phrase of commands.split('; ')) {
    const [command, id = '', ...rest] = phrase.split(' ');
    if (command === 'campaign') nodes.campaign(id);
    else if (command === 'deliver') nodes.deliver(id);
    else if (command === 'stabilize') nodes.stabilize();
    else if (command === 'drop') nodes.drop();
    else if (command === 'tick') nodes.tick(id, Number(rest[0]));
    else if (command === 'lapse') nodes.lapse(...(id === '' ? [] : [id, ...rest]));
    else if (command === 'log') nodes.log(id, BigInt(rest[0]!), BigInt(rest[1]!));
    else throw new Error(`no such command: ${command}`);
  }
}

describe('as their transcripts tell', () => {
  it.each(transcripts)('$title', ({ nodes: count, lines }) => {
    const nodes = new Nodes(count);
    nodes.facts();
    for (const { commands, facts } of lines) {
      perform(nodes, commands);
      expect(nodes.facts(), commands).toEqual([...facts].toSorted());
    }
  });
});
