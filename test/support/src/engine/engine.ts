import { request, type IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';

const TIMEOUT_MS = { ping: 500, ask: 60_000, send: 180_000 };

/** A container, as its engine reports it. */
export interface ContainerState {
  readonly id: string;
  /** `incumbent/etcd:bookworm`. */
  readonly image: string;
  /** `running`, `paused`, `exited`. */
  readonly state: string;
}

/**
 * A client of a container engine's API on its socket. Tests use it in addition to testcontainers,
 * and to check testcontainers independently.
 */
export class Engine {
  readonly socket: string;

  constructor(socket: string) {
    this.socket = socket;
  }

  /** In the format of `DOCKER_HOST`. */
  get url(): string {
    return `unix://${this.socket}`;
  }

  /** Whether the engine answers within half a second. */
  async answers(): Promise<boolean> {
    const ping = this.#ask('GET', '/_ping', TIMEOUT_MS.ping);
    return ping.then(
      () => true,
      () => false,
    );
  }

  async version(): Promise<string> {
    return String(fieldOf(JSON.parse(await this.#ask('GET', '/version')), 'Version'));
  }

  /** All containers, including those that have ended. */
  async containers(): Promise<readonly ContainerState[]> {
    const all: unknown = JSON.parse(await this.#ask('GET', '/containers/json?all=true'));
    if (!Array.isArray(all)) throw new Error('an engine that does not list its containers');
    return all.map((one: unknown) => ({
      id: String(fieldOf(one, 'Id')),
      image: String(fieldOf(one, 'Image')),
      state: String(fieldOf(one, 'State')),
    }));
  }

  /**
   * How many containers were started since that moment, in ms since 1970, whether or not they still
   * exist. A lower bound, because engines remember only their last 256 events.
   */
  async startsSince(sinceMs: number): Promise<number> {
    const filters = encodeURIComponent(JSON.stringify({ type: ['container'], event: ['start'] }));
    const [since, until] = [sinceMs / 1_000, Date.now() / 1_000].map((seconds) => seconds.toFixed(3));
    const events = await this.#ask('GET', `/events?since=${since}&until=${until}&filters=${filters}`);
    return events.split('\n').filter((line) => line.trim() !== '').length;
  }

  /** Ends a container and deletes it. */
  async remove(id: string): Promise<void> {
    await this.#ask('DELETE', `/containers/${id}?force=true&v=true`);
  }

  /** The value of an image's label. Undefined if there is no such image or label. */
  async labelOf(image: string, label: string): Promise<string | undefined> {
    const answer = await this.#ask('GET', `/images/${image}/json`).catch((error: unknown) => {
      if (error instanceof EngineRefuses && error.status === 404) return '{}';
      throw error;
    });
    const value = fieldOf(fieldOf(fieldOf(JSON.parse(answer), 'Config'), 'Labels'), label);
    return typeof value === 'string' ? value : undefined;
  }

  /**
   * Creates an image of one layer from the files of a tar archive, with instructions as in a
   * Dockerfile (`CMD`, `ENV`, `LABEL` and so on).
   */
  async importImage(image: string, archive: Readable, instructions: readonly string[]): Promise<void> {
    const [repo = '', tag = 'latest'] = image.split(':');
    const query = new URLSearchParams({ fromSrc: '-', repo, tag });
    for (const instruction of instructions) query.append('changes', instruction);
    // A failure in the middle is reported within an answer whose status is success.
    const said = await this.#ask('POST', `/images/create?${query.toString()}`, TIMEOUT_MS.send, archive);
    const failure = said
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => fieldOf(JSON.parse(line), 'error'))
      .find((error) => typeof error === 'string');
    if (typeof failure === 'string') throw new Error(`the image ${image} cannot be made: ${failure}`);
  }

  async #ask(method: 'GET' | 'POST' | 'DELETE', path: string, timeoutMs = TIMEOUT_MS.ask, body?: Readable): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const headers = body === undefined ? {} : { 'Content-Type': 'application/x-tar' };
    const asked = request(
      { socketPath: this.socket, method, path, headers, agent: false, signal: AbortSignal.timeout(timeoutMs) },
      resolve,
    );
    asked.on('error', reject);
    if (body === undefined) asked.end();
    else pipeline(body, asked).catch(reject);
    const response = await promise;
    const answer = await text(response);
    const { statusCode = 0 } = response;
    if (statusCode < 200 || statusCode > 299) throw new EngineRefuses(`${method} ${path}`, statusCode, answer);
    return answer;
  }
}

class EngineRefuses extends Error {
  readonly status: number;

  constructor(what: string, status: number, answer: string) {
    super(`${what}: ${status} ${answer.trim()}`);
    this.name = 'EngineRefuses';
    this.status = status;
  }
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Object.entries(value).find(([key]) => key === name)?.[1] : undefined;
}
