/** Records all events of the SDK on Node's diagnostics channels. */

import diagnosticsChannel from 'node:diagnostics_channel';

import type { TelemetryEvent } from '@incumbent/core';
import { tracesOf } from '@incumbent/test-support/traces';

/** All events. The type makes a missing one a compile error. */
const events: Readonly<Record<TelemetryEvent, true>> = {
  sessionOpened: true,
  sessionReopened: true,
  sessionRenewed: true,
  sessionSuspect: true,
  sessionRecovered: true,
  sessionKept: true,
  sessionEnded: true,
  memberClosed: true,
  loopLag: true,
  duplicateMember: true,
  joined: true,
  left: true,
  waiting: true,
  notified: true,
  claimed: true,
  termWentBack: true,
  elected: true,
  workStarted: true,
  ended: true,
  drained: true,
  released: true,
  stuck: true,
  unstuck: true,
  workFailed: true,
  evicted: true,
  retry: true,
  watchStale: true,
  foreignData: true,
  groupLeft: true,
  groupRejoined: true,
  rebalanced: true,
  handoverRequested: true,
  subscriberFailed: true,
  storeEndsEarly: true,
  reaperReady: true,
  reaperLost: true,
  renewerReady: true,
  renewerLost: true,
  observed: true,
  messageRefused: true,
  connectionRefused: true,
  peerConnected: true,
  peerDisconnected: true,
  peerFailed: true,
  peerConflict: true,
  membersChanged: true,
  storageSlow: true,
  seedsFailed: true,
};

const channels = Object.keys(events).map((name) => diagnosticsChannel.channel(`incumbent:${name}`));

/** Records the text of every event from its construction to its disposal. */
export class EventRecorder implements Disposable {
  readonly texts: string[] = [];
  readonly #listener = (message: unknown): void => void this.texts.push(tracesOf(message));

  constructor() {
    for (const channel of channels) channel.subscribe(this.#listener);
  }

  [Symbol.dispose](): void {
    for (const channel of channels) channel.unsubscribe(this.#listener);
  }
}
