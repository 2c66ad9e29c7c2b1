/**
 * A transport over TCP. Members share one port and one connection per pair, for any number of
 * elections.
 */

import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { emitWarning } from 'node:process';
import { TLSSocket } from 'node:tls';
import { checkName, explainDetached, keepAlive, invalidText, Telemetry } from '@incumbent/core/adapter';
import { connectSocket, type Endpoint, endpointName, isLoopback } from '@incumbent/network';
import { Refusals } from '../refusals.ts';
import type { Frame, Link, Receive, LinkOptions, Transport } from '../transport.ts';
import { decodePacket, encodePacket } from './codec.ts';
import { CONTENT_BYTES } from './connection.ts';
import { type Handshake, newIncarnation, type MemberIdentity } from './handshake.ts';
import { OpenDirectory } from './open-directory.ts';
import { resolveTcp, type TcpSettings, type TcpTransportOptions } from './options.ts';
import { IncomingHandshakes } from './incoming-handshakes.ts';
import { noRefusals, Refused, type TcpRefusalReason } from './refusal.ts';
import { ListedDirectory, type Directory, type DirectoryContext } from './directory.ts';
import { connectByTls, DialCertificates, judgeName, TlsListener } from './tls.ts';
import type { Wire } from './wire.ts';

/**
 * Connects this process to the other members of its group. If members are listed, the one of two
 * whose id sorts first dials, and reconnects whenever the connection ends. With an open membership,
 * a member dials when it has a message to send. Both sides authenticate each other before they
 * exchange messages, and only members are admitted. The constructor opens no port: the transport
 * starts to listen when the first election opens, and stops at `close()`. It does not keep the
 * process alive.
 *
 * @throws `INVALID_OPTION` or `INVALID_NAME` from the constructor. With `tls`, also the system's
 * error if it cannot read a certificate file, and OpenSSL's error if a certificate or key is not
 * valid.
 */
export class TcpTransport {
  readonly memberId: string;
  readonly #settings: TcpSettings;
  readonly #self: MemberIdentity;
  readonly #telemetry: Telemetry;
  readonly #refusals: Refusals<TcpRefusalReason>;
  readonly #directory: Directory;
  readonly #handshakes: IncomingHandshakes;
  readonly #certificates: DialCertificates | undefined;
  readonly #elections = new Map<string, Receive>();
  readonly #closing = new AbortController();
  readonly #server: Server;
  #listening: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  static {
    explainDetached(TcpTransport, 'transport');
  }

  constructor(options: TcpTransportOptions) {
    const settings = resolveTcp(options);
    const { memberId, group, clock, keepaliveMs, security, tls } = settings;
    this.memberId = memberId;
    this.#settings = settings;
    this.#self = { memberId, incarnation: newIncarnation(), security };
    this.#telemetry = new Telemetry(settings.logger, { memberId });
    this.#refusals = new Refusals(this.#telemetry, 'connectionRefused', noRefusals);
    const receive = (from: string, bytes: Buffer): void => this.#receive(from, bytes);
    const refuse = (refused: Refused): void => this.#refuse(refused);
    const context: DirectoryContext = {
      memberId,
      neighbour: { clock, keepaliveMs, telemetry: this.#telemetry, receive, refuse },
      dialer: { ...settings, self: this.#self, closing: this.#closing.signal, refuse },
      connect: async (id, endpoint, signal) => this.#connect(id, endpoint, signal),
    };
    this.#directory = group.kind === 'open' ? new OpenDirectory(group, context) : new ListedDirectory(group.members, context);
    this.#certificates = tls === undefined ? undefined : new DialCertificates(tls, clock);
    const listener = tls === undefined ? undefined : new TlsListener(tls, clock);
    this.#handshakes = new IncomingHandshakes({
      ...settings,
      self: this.#self,
      checks: {
        claimed: (from, to) => this.#directory.claimed(from) ?? (to === memberId ? undefined : new Refused('wrongMember', { to })),
        proved: (from, incarnation) => this.#directory.proved(from, incarnation),
      },
      secure: async (socket) => listener?.secure(socket) ?? socket,
      checkCertificate: (socket, id) => this.#checkCertificate(socket, id),
      welcome: (wire, handshake) => this.#welcome(wire, handshake),
      refuse,
    });
    this.#server = createServer((socket) => {
      socket.unref().setNoDelay();
      void this.#handshakes.accept(socket);
    });
  }

  /**
   * Returns the transport of one election, for the `PeerMember` of this process. Members receive
   * each other's messages if their elections have the same name. `open` rejects with the system's
   * error if the port cannot be opened (a later `open` tries again), and with a `TypeError` if the
   * election is open already.
   * @throws `INVALID_NAME`.
   */
  election(name: string): Transport {
    checkName('election', name);
    return { open: async (options) => this.#open(name, options) };
  }

  /**
   * How many connections and messages were refused, by reason. Telemetry reports the first refusal
   * of each reason and then one in 1,000, to the channel `incumbent:connectionRefused` and to the
   * logger.
   */
  get refused(): Readonly<Record<TcpRefusalReason, number>> {
    return this.#refusals.counts;
  }

  /** The ids of the members to which this one is connected now. */
  get connected(): readonly string[] {
    return [...this.#directory.neighbours].filter(({ isConnected }) => isConnected).map(({ memberId }) => memberId);
  }

  /**
   * Ends all connections and closes the port. Close the members first, so that their last messages
   * are still sent. Repeated calls return when the first one is done. Never rejects.
   */
  async close(): Promise<void> {
    await keepAlive(this.#settings.clock, () => (this.#closed ??= this.#close()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    const why = new Error('the transport was closed');
    this.#closing.abort(why);
    this.#elections.clear();
    await this.#listening?.catch(() => {});
    const closed = Promise.withResolvers<void>();
    this.#server.close(() => closed.resolve());
    this.#handshakes.close(why);
    await Promise.all([closed.promise, this.#directory.close(why)]);
  }

  async #open(name: string, options: LinkOptions): Promise<Link> {
    const { memberId, receive } = options;
    this.#closing.signal.throwIfAborted();
    if (memberId !== this.memberId) throw invalidText('memberId', memberId, `that of the transport: ${this.memberId}`);
    this.#directory.admit(options);
    if (this.#elections.has(name)) throw new TypeError(`the election "${name}" is already open on this transport`);
    this.#elections.set(name, receive);
    const listening = (this.#listening ??= this.#listen());
    try {
      await listening;
    } catch (error) {
      this.#elections.delete(name);
      // The next election to open tries again: the port may be free by then.
      if (this.#listening === listening) this.#listening = undefined;
      throw error;
    }
    const leave = this.#directory.enter(options);
    return {
      send: (to, frame, sort, at) => this.#send(name, to, frame, sort, at),
      close: async () => {
        leave();
        if (this.#elections.get(name) === receive) this.#elections.delete(name);
      },
    };
  }

  async #listen(): Promise<void> {
    const { host, port } = this.#settings.listen;
    this.#server.listen({ host, port }).unref();
    await once(this.#server, 'listening');
    if (this.#settings.security.kind === 'insecure') warnOfInsecurity(this.#settings.listen);
    // An error means that one connection could not be accepted. The next one may be.
    this.#server.on('error', () => {});
    this.#directory.begin();
  }

  async #connect(memberId: string, endpoint: Endpoint, signal: AbortSignal): Promise<Socket> {
    const { tls } = this.#settings;
    if (tls === undefined || this.#certificates === undefined) return connectSocket(endpoint, {}, signal);
    const socket = await connectByTls(endpoint, this.#certificates.current(), signal);
    try {
      const refused = judgeName(socket, memberId, tls);
      if (refused !== undefined) throw refused;
      return socket;
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }

  #checkCertificate(socket: Socket, memberId: string): Refused | undefined {
    const { tls } = this.#settings;
    return tls !== undefined && socket instanceof TLSSocket ? judgeName(socket, memberId, tls) : undefined;
  }

  #welcome(wire: Wire, handshake: Handshake): void {
    if (this.#closing.signal.aborted) return wire.destroy(this.#closing.signal.reason);
    this.#directory.welcome(wire, handshake);
  }

  #send(election: string, to: string, { configuration, message }: Frame, sort: string, at?: string): void {
    if (this.#closing.signal.aborted) return;
    const content = encodePacket({ election, configuration, message });
    if (content.length < CONTENT_BYTES) this.#directory.reach(to, at)?.send(`${election} ${sort}`, content);
    else this.#refuse(new Refused('tooLarge', { to, election, bytes: content.length }));
  }

  #receive(from: string, bytes: Buffer): void {
    const packet = decodePacket(bytes);
    if (packet === undefined) throw new Refused('malformed');
    const { election, configuration, message } = packet;
    const receive = this.#elections.get(election);
    if (receive === undefined) this.#refuse(new Refused('unknownElection', { from, election }));
    else receive(from, { configuration, message });
  }

  #refuse({ reason, facts }: Refused): void {
    if (!this.#closing.signal.aborted) this.#refusals.add(reason, facts);
  }
}

/** Warns unless the port is open to this machine only. */
function warnOfInsecurity(listen: Endpoint): void {
  if (isLoopback(listen)) return;
  emitWarning(
    `peer: ${endpointName(listen)} is open without security: whoever reaches it can be any member. Give the transport a secret or tls`,
    { code: 'INCUMBENT_PEERS_INSECURE' },
  );
}
