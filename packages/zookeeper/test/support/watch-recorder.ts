/** Listeners that record what a session's watches report. */

import type { ZooKeeperSession } from '../../src/client/session.ts';
import type { WatchMode } from '../../src/protocol/watches.ts';
import type { WatchListener } from '../../src/client/watch-hub.ts';
import { World, type Peer } from './fake-server.ts';

/** The calls of a listener, in order. */
class WatchRecorder implements WatchListener {
  readonly calls: string[] = [];

  changed(): void {
    this.calls.push('changed');
  }

  stale(): void {
    this.calls.push('stale');
  }

  ended(): void {
    this.calls.push('ended');
  }

  take(): readonly string[] {
    return this.calls.splice(0);
  }
}

export function recordWatch(
  session: ZooKeeperSession,
  path: string,
  mode: WatchMode = 'node',
): { recorder: WatchRecorder; stop: () => void } {
  const recorder = new WatchRecorder();
  session.watch(path, mode, recorder);
  return { recorder, stop: () => session.unwatch(path, recorder) };
}

/** A session on one server; `peer`: that server's end of its last connection. */
export async function watched(): Promise<{ world: World; session: ZooKeeperSession; peer: () => Peer }> {
  const world = new World();
  return { world, session: await world.open(), peer: () => world.server.peer };
}
