import { LOOPBACK } from './ports.ts';
import { Links, type FlowStats } from './proxy/links.ts';
import { Listener, type Listening } from './proxy/listener.ts';
import { DROP, DROP_ALL, HOLD, PASS, PASS_ALL, towards, type Direction, type Rules } from './proxy/rules.ts';
import { parseTarget, type ProxyTarget } from './proxy/target.ts';
import { Trap, type TrapOptions } from './proxy/trap.ts';

/**
 * Which connections a fault affects: existing and new ones, only new ones, or only existing ones.
 */
export type Scope = 'all' | 'new' | 'existing';

export interface FaultOptions {
  /** Default 'all'. */
  readonly scope?: Scope;
}

export interface DirectedOptions extends FaultOptions {
  /** Default 'both'. */
  readonly direction?: Direction;
}

/** What a proxy has done since it was started. */
export interface ProxyStats {
  readonly connections: { readonly opened: number; readonly open: number };
  /** Bytes from clients to the target, and back. */
  readonly requests: FlowStats;
  readonly replies: FlowStats;
}

/**
 * A TCP proxy in front of one target, with faults that can be switched while it runs. It knows
 * bytes, not messages. If it loses bytes of a connection that carries HTTP/2, that connection is
 * permanently unusable, which is why `heal` resets it.
 *
 * One rule applies at a time: each of `setRules`, `latency`, `dropReplies`, `dropRequests`,
 * `blackhole` and `stall` replaces the one before. `silence`, `refuse` and `dropNextReply` apply in
 * addition. If the target refuses a connection, the client sees a reset.
 */
export interface Proxy extends AsyncDisposable {
  readonly port: number;
  /**
   * The target's URL with the proxy's host and port. `tcp:` if the target was given without a
   * scheme.
   */
  readonly url: string;
  stats(): ProxyStats;

  setRules(rules: Rules, options?: FaultOptions): void;
  /** Delays every byte by this time. */
  latency(ms: number, options?: DirectedOptions): void;
  /** Requests arrive and are served. Their answers never arrive. The connection stays open. */
  dropReplies(options?: FaultOptions): void;
  /** Requests never arrive. The connection stays open. */
  dropRequests(options?: FaultOptions): void;
  /** Nothing arrives in either direction. New connections are accepted and not answered. */
  blackhole(options?: FaultOptions): void;
  /**
   * Nothing arrives in either direction on a connection whose client has last sent a matching
   * request, or sends one before the proxy is healed. It stays open. All other connections work.
   */
  silence(isMeant: (request: string) => boolean): void;
  /** Everything waits for `ms`, or until healed, and is then delivered. Nothing is lost. */
  stall(ms?: number, options?: DirectedOptions): void;

  /**
   * The next request arrives and is served. Its answer is lost, and the connection is then reset,
   * so that its client cannot know whether it was served. Resolves with true when that has
   * happened, and with false when the proxy was healed or closed before.
   *
   * The first connection that sends anything is caught, even if it is a ping. Keep the others
   * quiet, or require more bytes with `afterRequestBytes`.
   */
  dropNextReply(options?: TrapOptions): Promise<boolean>;
  /** Resets all connections now. New ones work. */
  reset(): void;
  /** New connections are refused. Existing ones stay. Call `reset` as well to end them. */
  refuse(): void;
  /**
   * Everything passes again, on the same port. Resets the connections that lost bytes. With `reset:
   * false`, resets only those of which one side is gone.
   */
  heal(options?: { readonly reset?: boolean }): Promise<void>;
  /** Resets all connections and closes the proxy. Idempotent. */
  close(): Promise<void>;
}

/** Starts a proxy on a free port of the loopback address. The target need not exist yet. */
export async function startProxy(target: ProxyTarget): Promise<Proxy> {
  const parsed = parseTarget(target);
  const links = new Links(parsed);
  const listener = await Listener.open((socket) => links.add(socket));
  return new FaultProxy(parsed.scheme, links, listener);
}

/** The proxy of {@link startProxy}, for any source of connections. */
export class FaultProxy implements Proxy {
  readonly port: number;
  readonly url: string;
  readonly #links: Links;
  readonly #listener: Listening;
  #stall: NodeJS.Timeout | undefined;

  constructor(scheme: string, links: Links, listener: Listening) {
    this.#links = links;
    this.#listener = listener;
    this.port = listener.port;
    this.url = `${scheme}://${LOOPBACK}:${listener.port}`;
  }

  stats(): ProxyStats {
    const { opened, open } = this.#links;
    return {
      connections: { opened, open: open.size },
      requests: this.#links.stats('requests'),
      replies: this.#links.stats('replies'),
    };
  }

  setRules(rules: Rules, { scope = 'all' }: FaultOptions = {}): void {
    clearTimeout(this.#stall);
    if (scope !== 'existing') this.#links.rules = rules;
    if (scope !== 'new') for (const link of this.#links.open) link.setRules(rules);
  }

  latency(ms: number, { direction = 'both', ...options }: DirectedOptions = {}): void {
    this.setRules(towards(direction, { kind: 'delay', ms }), options);
  }

  dropReplies(options?: FaultOptions): void {
    this.setRules({ requests: PASS, replies: DROP }, options);
  }

  dropRequests(options?: FaultOptions): void {
    this.setRules({ requests: DROP, replies: PASS }, options);
  }

  blackhole(options?: FaultOptions): void {
    this.setRules(DROP_ALL, options);
  }

  silence(isMeant: (request: string) => boolean): void {
    this.#links.isSilenced = isMeant;
    for (const link of this.#links.open) if (isMeant(link.lastRequest)) link.setRules(DROP_ALL);
  }

  stall(ms?: number, { direction = 'both', ...options }: DirectedOptions = {}): void {
    this.setRules(towards(direction, HOLD), options);
    if (ms !== undefined) this.#stall = setTimeout(() => this.setRules(PASS_ALL), ms);
  }

  async dropNextReply(options: TrapOptions = {}): Promise<boolean> {
    const trap = new Trap(options);
    this.#links.traps.add(trap);
    const sprung = await trap.sprung;
    this.#links.traps.delete(trap);
    return sprung;
  }

  reset(): void {
    for (const link of this.#links.open) link.reset();
  }

  refuse(): void {
    this.#listener.close();
  }

  async heal({ reset = true }: { readonly reset?: boolean } = {}): Promise<void> {
    this.#giveTrapsUp();
    this.#links.isSilenced = undefined;
    for (const link of this.#links.open) if (reset ? link.tainted : link.severed) link.reset();
    this.setRules(PASS_ALL);
    await this.#listener.reopen();
  }

  async close(): Promise<void> {
    clearTimeout(this.#stall);
    this.#giveTrapsUp();
    this.#listener.close();
    this.reset();
    await Promise.all([...this.#links.open].map((link) => link.closed));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #giveTrapsUp(): void {
    for (const trap of this.#links.traps) trap.abort();
  }
}
