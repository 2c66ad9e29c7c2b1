export type {
  Algorithm,
  AlgorithmState,
  Belief,
  Command,
  Contact,
  Input,
  LeaderView,
  Output,
  PeerEndReason,
  PeerEvent,
  PeerMembership,
  PeerMembershipMember,
  PeerView,
  Position,
  Reading,
  RoundOf,
  Safety,
  Start,
  Step,
  TermOf,
  UnknownView,
} from './algorithm.ts';
export type { DurableStorage } from './storage.ts';
export type { Found, Frame, Link, ListedSeat, OpenSeat, Receive, Seat, Transport } from './transport.ts';
export type { MemoryNetworkOptions } from './memory.ts';
export type { PeerCallOptions, PeerMemberOptions } from './member.ts';
export type { PeerLeadershipEnd } from './leadership.ts';
export type { EmergentAlgorithm } from './emergent/emergent.ts';
export type { EmergentMessage } from './emergent/message.ts';
export type { EmergentOptions } from './emergent/options.ts';
export type { EmergentState } from './emergent/state.ts';
export type { QuorumMessage, Vote } from './quorum/message.ts';
export type { QuorumAlgorithm } from './quorum/quorum.ts';
export type { QuorumOptions, TieBreak } from './quorum/options.ts';
export type { QuorumState } from './quorum/state.ts';
export type { RefusalReason } from './refusals.ts';
export type { PeerTls } from './tcp/tls.ts';
export type { TcpRefusalReason } from './tcp/refusal.ts';
export type { Seeds, TcpTransportOptions } from './tcp/options.ts';

export { emergent } from './emergent/emergent.ts';
export { MemoryNetwork, MemoryStorage } from './memory.ts';
export { PeerLeadership } from './leadership.ts';
export { PeerMember } from './member.ts';
export { quorum } from './quorum/quorum.ts';
export { TcpTransport } from './tcp/transport.ts';
export { voteFile } from './vote-file.ts';
