import { LOOPBACK } from './ports.ts';
import { Links, type FlowStats } from './proxy/links.ts';
import { Listener, type Listening } from './proxy/listener.ts';
import { DROP, DROP_ALL, HOLD, PASS, PASS_ALL, towards, type Direction, type Rules } from './proxy/rules.ts';
import { parseTarget, type ProxyTarget } from './proxy/target.ts';
import { Trap, type TrapOptions } from './proxy/trap.ts';

/**
 * Which connections a fault is for: those that are there and those to come, only those to come, or
 * only those that are there.
 */
export type Scope = 'all' | 'new' | 'existing';

export interface FaultOptions {
  /** 'all' by default. */
  readonly scope?: Scope;
}

export interface DirectedOptions extends FaultOptions {
  /** 'both' by default. */
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
 * A TCP proxy in front of one target, with faults to switch while it runs. It knows bytes, not
 * messages: what it swallows of a connection that carries HTTP/2 makes that connection useless for
 * ever, which is why `heal` resets it.
 *
 * One rule holds at a time: each of `setRules`, `latency`, `dropReplies`, `dropRequests`,
 * `blackhole`, `stall` takes the place of the one before. `silence`, `refuse` and `dropNextReply`
 * stand beside it. A target that refuses is seen by a client as a connection that is reset.
 */
export interface Proxy extends AsyncDisposable {
  readonly port: number;
  /**
   * The target's URL with the proxy's host and port; `tcp:` where the target was given without a
   * scheme.
   */
  readonly url: string;
  stats(): ProxyStats;

  setRules(rules: Rules, options?: FaultOptions): void;
  /** Every byte takes so much longer. */
  latency(ms: number, options?: DirectedOptions): void;
  /** Requests arrive and are served; their answers never come; the connection stays open. */
  dropReplies(options?: FaultOptions): void;
  /** Requests never arrive; the connection stays open. */
  dropRequests(options?: FaultOptions): void;
  /** Nothing arrives either way; new connections are accepted, and nobody answers. */
  blackhole(options?: FaultOptions): void;
  /**
   * Nothing arrives either way on a connection on which the client has last sent such a request, or
   * sends one before the proxy is healed. It stays open. All others are served.
   */
  silence(isMeant: (request: string) => boolean): void;
  /** Everything waits for `ms`, or until healed, and is then delivered. Nothing is lost. */
  stall(ms?: number, options?: DirectedOptions): void;

  /**
   * The next request arrives and is served; its answer is swallowed and the connection is then
   * reset: its client cannot know whether it was served. Resolves with true when that has happened,
   * with false when the proxy was healed or closed before.
   *
   * The connection that is caught is the first that sends anything, be it a ping: keep others
   * quiet, or ask for more `afterRequestBytes`.
   */
  dropNextReply(options?: TrapOptions): Promise<boolean>;
  /** Resets all connections now. New ones are served. */
  reset(): void;
  /** New connections are refused. Those that are there stay; add `reset` to end them. */
  refuse(): void;
  /**
   * Everything passes again, on the same port. Resets the connections of which something was lost;
   * with `reset: false` only those of which one side is gone.
   */
  heal(options?: { readonly reset?: boolean }): Promise<void>;
  /** Resets all connections and ends the proxy. Idempotent. */
  close(): Promise<void>;
}

/** Starts a proxy on a free port of the loopback address. The target need not be there yet. */
export async function startProxy(target: ProxyTarget): Promise<Proxy> {
  const parsed = parseTarget(target);
  const links = new Links(parsed);
  const listener = await Listener.open((socket) => links.add(socket));
  return new FaultProxy(parsed.scheme, links, listener);
}

/** The proxy of {@link startProxy}, on whatever brings it connections. */
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
