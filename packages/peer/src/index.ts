export type {
  Algorithm,
  AlgorithmState,
  Validity,
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
export type { Found, Frame, Link, ListedLinkOptions, OpenLinkOptions, Receive, LinkOptions, Transport } from './transport.ts';
export type { MemoryNetworkOptions } from './memory.ts';
export type { PeerMemberOptions } from './member.ts';
export type { PeerLeadershipEnd } from './leadership.ts';
export type { EmergentAlgorithm } from './emergent/emergent.ts';
export type { EmergentMessage } from './emergent/message.ts';
export type { EmergentOptions } from './emergent/options.ts';
export type { EmergentState } from './emergent/state.ts';
export type { QuorumMessage, Vote } from './quorum/message.ts';
export type { QuorumAlgorithm } from './quorum/quorum.ts';
export type { QuorumOptions, TieBreak } from './quorum/options.ts';
export type { QuorumState } from './quorum/state.ts';
export type { BestEffortAlgorithm } from './best-effort/best-effort.ts';
export type { BestEffortMessage } from './best-effort/message.ts';
export type { BestEffortOptions } from './best-effort/options.ts';
export type { BestEffortState } from './best-effort/state.ts';
export type { BullyOptions } from './bully/options.ts';
export type { CandidateOrdinaryOptions } from './candidate-ordinary/candidate-ordinary.ts';
export type { InvitationOptions } from './invitation/invitation.ts';
export type { NextInLineOptions } from './next-in-line/next-in-line.ts';
export type { RingVariant } from './ring/circuit.ts';
export type { RingOptions } from './ring/ring.ts';
export type { RefusalReason } from './refusals.ts';
export type { PeerTls } from './tcp/tls.ts';
export type { TcpRefusalReason } from './tcp/refusal.ts';
export type { PeerSecret, Seeds, TcpTransportOptions } from './tcp/options.ts';

export { emergent } from './emergent/emergent.ts';
export { MemoryNetwork, MemoryStorage } from './memory.ts';
export { PeerLeadership } from './leadership.ts';
export { PeerMember } from './member.ts';
export { bully } from './bully/bully.ts';
export { candidateOrdinary } from './candidate-ordinary/candidate-ordinary.ts';
export { invitation } from './invitation/invitation.ts';
export { nextInLine } from './next-in-line/next-in-line.ts';
export { quorum } from './quorum/quorum.ts';
export { ring } from './ring/ring.ts';
export { TcpTransport } from './tcp/transport.ts';
export { voteFile } from './vote-file.ts';
