/** The reasons for which a connection or a message is refused, as counted and reported. */

/** All reasons, with the count 0. */
export const noRefusals = {
  /** Too many connections had not authenticated yet. The one that had waited longest was closed. */
  tooManyConnections: 0,
  /** The other side did not authenticate in time. */
  handshakeTimeout: 0,
  /** The other side uses another protocol. */
  notThisProtocol: 0,
  /** The other side uses another version of this protocol. */
  version: 0,
  /** The two sides use different kinds of security: a secret, certificates or none. */
  security: 0,
  /** The other side claims to be a member that is not listed. */
  unknownMember: 0,
  /** The other side wanted another member, or this member should dial it instead. */
  wrongMember: 0,
  /** The other side does not know the secret. */
  wrongSecret: 0,
  /**
   * The other side's certificate is not trusted, or belongs to another member. Or `nameOf` threw an
   * error, or returned no name.
   */
  certificate: 0,
  /** Another live process with this member id is connected. */
  duplicateMember: 0,
  /**
   * A frame's announced length exceeds the limit, or a message was too long to send. It was not
   * read or sent.
   */
  tooLarge: 0,
  /**
   * The frame is not the next one that the other side sent on this connection: it was changed,
   * replayed, reordered or reflected.
   */
  forged: 0,
  /** The frame is authentic, but it is not a valid message. */
  malformed: 0,
  /** A message of an election that is not open in this process. The connection stays open. */
  unknownElection: 0,
  /** The other side has not answered three pings: it has died silently, or does not read. */
  unresponsive: 0,
  /** The other side refused this member, for the reason in `there`. */
  refusedThere: 0,
};

/** Why a transport refused or ended a connection, or refused a message on it. */
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
