/** All that the SDK says on Node's diagnostics channels. */

import diagnosticsChannel from 'node:diagnostics_channel';

import type { TelemetryEvent } from '@incumbent/core';
import { tracesOf } from '@incumbent/test-support/traces';

/** Every event: a new one that is missing here is an error of its type. */
const events: Readonly<Record<TelemetryEvent, true>> = {
  sessionOpened: true,
  sessionRenewed: true,
  sessionSuspect: true,
  sessionRecovered: true,
  sessionEnded: true,
  loopLag: true,
  duplicateMember: true,
  joined: true,
  waiting: true,
  elected: true,
  ended: true,
  released: true,
  stuck: true,
  unstuck: true,
  workFailed: true,
  evicted: true,
  retry: true,
  watchStale: true,
  foreignData: true,
  groupLeft: true,
  rebalanced: true,
  handoverRequested: true,
  subscriberFailed: true,
  storeEndsEarly: true,
  reaperReady: true,
  reaperLost: true,
  observed: true,
  messageRefused: true,
  connectionRefused: true,
  peerConnected: true,
  peerDisconnected: true,
  peerFailed: true,
  peerConflict: true,
  membersChanged: true,
  seedsFailed: true,
};

const channels = Object.keys(events).map((name) => diagnosticsChannel.channel(`incumbent:${name}`));

/** Keeps the text of every event from its construction until it is disposed of. */
export class Channels implements Disposable {
  readonly heard: string[] = [];
  readonly #listener = (message: unknown): void => void this.heard.push(tracesOf(message));

  constructor() {
    for (const channel of channels) channel.subscribe(this.#listener);
  }

  [Symbol.dispose](): void {
    for (const channel of channels) channel.unsubscribe(this.#listener);
  }
}
