/** Listeners to the watches of a session, and what they hear. */

import type { ZooKeeperSession } from '../../src/client/session.ts';
import type { WatchMode } from '../../src/protocol/watches.ts';
import type { WatchListener } from '../../src/client/watch-hub.ts';
import { World, type Peer } from './fake-server.ts';

/** What a listener was told, in order. */
class Ear implements WatchListener {
  readonly heard: string[] = [];

  changed(): void {
    this.heard.push('changed');
  }

  stale(): void {
    this.heard.push('stale');
  }

  ended(): void {
    this.heard.push('ended');
  }

  take(): readonly string[] {
    return this.heard.splice(0);
  }
}

export function listen(session: ZooKeeperSession, path: string, mode: WatchMode = 'node'): { ear: Ear; stop: () => void } {
  const ear = new Ear();
  return { ear, stop: session.watch(path, mode, ear) };
}

/** A session on one server; `peer`: that server's end of its last connection. */
export async function watched(): Promise<{ world: World; session: ZooKeeperSession; peer: () => Peer }> {
  const world = new World();
  return { world, session: await world.open(), peer: () => world.server.peer };
}
