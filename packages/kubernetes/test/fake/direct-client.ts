/** Requests to a fake API server without sockets, on a clock that a test moves. */

import type { Clock } from '@incumbent/core';
import { sleep } from '@incumbent/core/adapter';
import { type AttemptOptions, Calls } from '@incumbent/network';

import { type Client, type Request, type Response, rightFor } from '../../src/client/client.ts';
import { ExchangeError } from '../../src/client/failure.ts';
import { textFields } from '../../src/objects/json.ts';
import type { FakeApiServer } from './api-server.ts';

/** How long a message takes in each direction, in ms. */
const LATENCY_MS = 1;

export class DirectClient implements Pick<Client, 'request'> {
  readonly #server: FakeApiServer;
  readonly #clock: Clock;
  readonly #calls: Calls;

  constructor(server: FakeApiServer, clock: Clock) {
    this.#server = server;
    this.#clock = clock;
    this.#calls = new Calls(clock, ExchangeError);
  }

  request(request: Request, options: AttemptOptions): Promise<Response> {
    const { method, path, query = {}, body, accept = [] } = request;
    return this.#calls.run(options, async (attempt) => {
      await attempt.wait(sleep(this.#clock, LATENCY_MS));
      attempt.sent = true;
      const sent = { method, path, query: new URLSearchParams(query), body: JSON.stringify(body ?? '') };
      const reaction = this.#server.handle(sent);
      if (reaction === 'silent') return attempt.wait(new Promise<never>(() => {}));
      await attempt.wait(sleep(this.#clock, LATENCY_MS));
      if (reaction === 'reset') throw new ExchangeError({ kind: 'cut' }, 'the connection closed');
      const { status } = reaction;
      const answer = 'text' in reaction ? {} : reaction.body;
      if (status < 300 || accept.includes(status)) return { status, headers: {}, body: answer };
      const { reason = '', message = '' } = textFields(answer);
      throw new ExchangeError({ kind: 'status', status, reason, needs: rightFor(request) }, `${status} ${message}`);
    });
  }
}
