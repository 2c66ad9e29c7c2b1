/** What telemetry reports of the connections with one member. */

import { Telemetry } from '@incumbent/core/adapter';
import { ManualClock } from '@incumbent/memory';
import { expect, it } from 'vitest';
import { Neighbour } from '../../src/tcp/neighbour.ts';
import { unsealed } from '../../src/tcp/seal.ts';
import { Wire } from '../../src/tcp/wire.ts';
import { line, settled } from './stranger.ts';

class EventRecorder extends Telemetry {
  readonly events: string[] = [];

  constructor() {
    super(undefined, {});
  }

  override emit(event: string): void {
    this.events.push(event);
  }
}

it.each([
  ['the member has restarted', ['1', '2'], ['peerConnected', 'peerDisconnected', 'peerConnected', 'peerDisconnected']],
  ['a preferred connection has replaced another', ['1', '1'], ['peerConnected', 'peerDisconnected']],
])('a neighbour reports one end for each beginning of its connection after %s', async (_, incarnations, events) => {
  const telemetry = new EventRecorder();
  const context = { clock: new ManualClock(), keepaliveMs: 1_000, telemetry, receive: () => {}, refuse: () => {} };
  const neighbour = new Neighbour('b', context);
  for (const incarnation of incarnations) {
    const handshake = { memberId: 'b', incarnation, theirs: unsealed, ours: unsealed };
    neighbour.connect(new Wire(line().socket, 1_000), handshake, true);
    await settled();
  }
  neighbour.close(new Error('the transport was closed'));
  await settled();
  expect(telemetry.events).toEqual(events);
});
