/**
 * The stream of documents from the server. It is read with fetch, because an EventSource cannot
 * send a token. After a break, the server sends only what has changed since the last version.
 */

/** The server sends something every 15 s. */
const SILENT_AFTER_MS = 40_000;
/** A hidden tab gives up its connection, as browsers allow six for one server. */
const HIDDEN_AFTER_MS = 60_000;
const RETRY_MS = [300, 1_000, 2_000, 5_000];

export class Connection {
  #handlers;
  #query = '';
  #since = '';
  #epoch = '';
  #tries = 0;
  #over = new AbortController();
  #retry = 0;
  #hide = 0;
  #skewMs = 0;
  #isStarted = false;

  /** `handlers`: `document(key, value)`, `reset()`, `ready()`, `state(name, detail)`. */
  constructor(handlers) {
    this.#handlers = handlers;
    document.addEventListener('visibilitychange', () => this.#visibility());
  }

  /** The time of the server, in ms since the epoch. */
  get now() {
    return Date.now() + this.#skewMs;
  }

  /** `query`: what the page has opened, as `queue=NAME`. */
  open(query) {
    if (this.#isStarted && query === this.#query) return;
    this.#query = query;
    this.#isStarted = true;
    this.retry();
  }

  /** Connects now, with a new connection. */
  retry() {
    this.#over.abort();
    clearTimeout(this.#retry);
    this.#over = new AbortController();
    void this.#follow(this.#over);
  }

  #visibility() {
    clearTimeout(this.#hide);
    if (document.visibilityState === 'hidden') {
      this.#hide = setTimeout(() => {
        clearTimeout(this.#retry);
        this.#over.abort();
      }, HIDDEN_AFTER_MS);
    } else if (this.#isStarted && this.#over.signal.aborted) this.retry();
  }

  async #follow(over) {
    try {
      const query = [this.#query, this.#since === '' ? '' : `since=${this.#since}`].filter((part) => part !== '').join('&');
      const response = await fetch(`/documents?${query}`, { headers: authorization(), signal: over.signal, cache: 'no-store' });
      if (response.status === 401) {
        this.#handlers.state('unauthorized');
        return;
      }
      if (!response.ok) throw new Error((await response.json()).message);
      await this.#read(response.body.getReader(), over);
      this.#failed(over, 'the server has closed the connection');
    } catch (error) {
      this.#failed(over, error instanceof TypeError ? 'the server does not answer' : error.message);
    }
  }

  #failed(over, why) {
    if (over.signal.aborted && over.signal.reason !== 'silent') return;
    const delay = RETRY_MS[Math.min(this.#tries, RETRY_MS.length - 1)];
    this.#tries += 1;
    this.#handlers.state('offline', why);
    this.#retry = setTimeout(() => this.retry(), delay);
  }

  async #read(reader, over) {
    const decoder = new TextDecoder();
    let rest = '';
    let silence = 0;
    try {
      for (;;) {
        clearTimeout(silence);
        silence = setTimeout(() => over.abort('silent'), SILENT_AFTER_MS);
        const { done, value } = await reader.read();
        if (done) return;
        const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n');
        rest = blocks.pop();
        for (const block of blocks) this.#event(block);
      }
    } finally {
      clearTimeout(silence);
    }
  }

  #event(block) {
    const [, event, data] = /^event: (\w+)\ndata: (.*)$/s.exec(block) ?? [];
    if (event === undefined) return;
    const message = JSON.parse(data);
    if (event === 'hello') {
      this.#tries = 0;
      this.#epoch = message.epoch;
      this.#skewMs = message.now - Date.now();
      if (!message.resumes) {
        this.#since = '';
        this.#handlers.reset();
      }
      this.#handlers.state('live');
    } else if (event === 'documents') {
      for (const [key, value] of message.documents) this.#handlers.document(key, value);
      if (message.version !== null) this.#since = `${this.#epoch}.${message.version}`;
    } else if (event === 'ready') this.#handlers.ready();
  }
}

const TOKEN = 'incumbent-token';

export function rememberToken(token) {
  sessionStorage.setItem(TOKEN, token);
}

function authorization() {
  const token = sessionStorage.getItem(TOKEN);
  return token === null ? {} : { authorization: `Bearer ${token}` };
}

/** A request to the server. Rejects with the message of its answer. */
export async function ask(method, path, body) {
  const headers = { ...authorization(), ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
  const response = await fetch(path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }).catch(() => {
    throw new Error('incumbent ui does not answer');
  });
  const answer = response.status === 204 ? {} : await response.json();
  if (!response.ok) throw new Error(answer.message);
  return answer;
}
