/** Why a connection is refused or given up, as counted and told. */

/** All of them, and 0: what a transport counts from. */
export const noRefusals = {
  /**
   * More connections than fit were waiting to say who they are; the one that had waited longest
   * made way.
   */
  tooManyConnections: 0,
  /** It did not say who it is in time. */
  handshakeTimeout: 0,
  /** It speaks something else. */
  notThisProtocol: 0,
  /** It speaks another version of this protocol. */
  version: 0,
  /**
   * It goes by other means: one of the two by a secret, the other by certificates or by nothing.
   */
  security: 0,
  /** It says that it is a member that is not listed. */
  unknownMember: 0,
  /** It wanted to talk to another member, or it was not its part to connect, but this member's. */
  wrongMember: 0,
  /** It does not know the secret. */
  wrongSecret: 0,
  /** Its certificate is not trusted, or is that of somebody else. */
  certificate: 0,
  /** Another process of that member id is connected, and lives. */
  duplicateMember: 0,
  /** It announced more bytes than any message has; none of them was read. */
  tooLarge: 0,
  /**
   * What came was not sent by it on this connection, in this order, in this direction: changed,
   * replayed, or sent back.
   */
  forged: 0,
  /** It came whole, and is no message. */
  malformed: 0,
  /** A message of an election in which this process does not take part; the connection goes on. */
  unknownElection: 0,
  /** It has not answered for three keepalives: gone without a word, or it does not read. */
  unresponsive: 0,
  /** The other side refused this one, for the reason that is told with it. */
  refusedThere: 0,
};

export type TcpRefusalReason = keyof typeof noRefusals;

export class Refused extends Error {
  readonly reason: TcpRefusalReason;
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(reason: TcpRefusalReason, facts: Readonly<Record<string, unknown>> = {}) {
    super(reason);
    this.name = 'Refused';
    this.reason = reason;
    this.facts = facts;
  }
}
