/** A network that can be cut: then it drops all messages in both directions, without an error. */

import type { Link, LinkOptions, Transport } from '@incumbent/peer';

export class Cable implements Transport {
  readonly #transport: Transport;
  isCut = false;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async open(options: LinkOptions): Promise<Link> {
    const link = await this.#transport.open({
      ...options,
      receive: (from, frame) => {
        if (!this.isCut) options.receive(from, frame);
      },
    });
    return {
      send: (to, frame, sort) => {
        if (!this.isCut) link.send(to, frame, sort);
      },
      close: async () => link.close(),
    };
  }
}
