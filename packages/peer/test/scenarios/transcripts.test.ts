import { describe, expect, it } from 'vitest';
import { Nodes } from './nodes.ts';
import { transcripts } from './transcripts.ts';

/** Executes one line of a transcript. */
function perform(nodes: Nodes, verbs: string): void {
  for (const phrase of verbs.split('; ')) {
    const [verb, id = '', ...rest] = phrase.split(' ');
    if (verb === 'campaign') nodes.campaign(id);
    else if (verb === 'deliver') nodes.deliver(id);
    else if (verb === 'stabilize') nodes.stabilize();
    else if (verb === 'drop') nodes.drop();
    else if (verb === 'tick') nodes.tick(id, Number(rest[0]));
    else if (verb === 'lapse') nodes.lapse(...(id === '' ? [] : [id, ...rest]));
    else if (verb === 'log') nodes.log(id, BigInt(rest[0]!), BigInt(rest[1]!));
    else throw new Error(`no such verb: ${verb}`);
  }
}

describe('as their transcripts tell', () => {
  it.each(transcripts)('$title', ({ nodes: count, lines }) => {
    const nodes = new Nodes(count);
    nodes.facts();
    for (const { verbs, facts } of lines) {
      perform(nodes, verbs);
      expect(nodes.facts(), verbs).toEqual([...facts].toSorted());
    }
  });
});
