/**
 * Some of etcd-io/raft's transcripts about votes (testdata/*.txt), as data: commands, and the facts
 * that follow, in the notation of `nodes.ts`. Where this implementation differs by design, the line
 * says so.
 */

/** One line of commands, as commands and nodes, and the facts that follow. */
interface TranscriptLine {
  readonly commands: string;
  readonly facts: readonly string[];
}

export interface Transcript {
  readonly title: string;
  readonly nodes: number;
  readonly lines: readonly TranscriptLine[];
}

function line(commands: string, ...facts: readonly string[]): TranscriptLine {
  return { commands, facts };
}

/** This implementation always asks first. In etcd-io/raft that is an option. */
const first = line(
  'campaign 1; stabilize',
  '1 asks 0',
  '2 would 1',
  '3 would 1',
  '1 stands 1',
  '1 keeps 1 1',
  '2 follows 1',
  '3 follows 1',
  '2 casts 1 1',
  '3 casts 1 1',
  '2 keeps 1 1',
  '3 keeps 1 1',
  '1 leads 1',
);

export const transcripts: readonly Transcript[] = [
  { title: 'D01 one round elects (etcd-io/raft campaign.txt)', nodes: 3, lines: [first] },
  {
    title: 'D01 a single node is its own majority (etcd-io/raft single_node.txt)',
    nodes: 1,
    lines: [line('campaign 1; stabilize', '1 stands 1', '1 keeps 1 1', '1 leads 1')],
  },
  {
    title: 'D02 a stale candidate gets no pre-vote, and the term is not raised; a fresh one wins (etcd-io/raft prevote.txt)',
    nodes: 3,
    lines: [
      first,
      // Nodes 1 and 2 have an entry that node 3 lacks. In etcd-io/raft, a node that has heard a
      // leader may vote at once. Here its promise must expire first.
      line('log 1 1 12; log 2 1 12; log 3 1 11; lapse 2 3; campaign 3; stabilize', '3 asks 1', '1 would not 3', '2 would not 3'),
      line('tick 1 200; stabilize', '3 follows 1'),
      line(
        'log 3 1 12; lapse; tick 1 100; drop; campaign 2; stabilize',
        ...['1 follows 1', '2 asks 1', '1 would 2', '3 would 2', '2 stands 2', '2 keeps 2 2'],
        ...['1 follows 2', '3 follows 2', '1 casts 2 2', '3 casts 2 2', '1 keeps 2 2', '3 keeps 2 2', '2 leads 2'],
      ),
    ],
  },
  {
    title: 'D04 votes are refused while a leader is heard, and it steps down without a majority (etcd-io/raft checkquorum.txt)',
    nodes: 3,
    lines: [
      first,
      // In etcd-io/raft, node 2 raises its term to 2 in vain. Here it asks first, so all terms from
      // here on are lower by one.
      line('campaign 2; stabilize', '2 asks 1', '1 would not 2', '3 would not 2'),
      // In etcd-io/raft this takes two timeouts, because it counts whole ones.
      line('tick 1 1000; tick 1 1000', '1 follows 1'),
      // Its heartbeats arrive late and are accepted: no node has followed another leader in their
      // term since.
      line('stabilize', '2 follows 1'),
      // No time has passed for node 3, so its promise still binds it.
      line('lapse 2; campaign 2; deliver 1; deliver 3', '2 asks 1', '1 would 2', '3 would not 2'),
      line(
        'stabilize',
        ...['2 stands 2', '2 keeps 2 2', '1 follows 2', '1 casts 2 2', '1 keeps 2 2', '3 refuses 2 1', '2 leads 2'],
        ...['3 follows 2', '3 keeps 2 -'],
      ),
    ],
  },
];
