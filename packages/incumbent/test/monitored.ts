/** A member whose monitor the tests read. */

import { ManualClock, MemoryServer, type MemoryStore } from '@incumbent/memory';
import { afterEach } from 'vitest';
import { Member } from '../src/index.ts';
import { Monitor } from '../src/monitor.ts';

/** One process with one member, whose clock the test moves. */
export class Scene {
  readonly clock = new ManualClock();
  readonly server = new MemoryServer({ clock: this.clock });
  readonly monitor = new Monitor({ now: () => this.clock.monotonic() });
  readonly store: MemoryStore = this.server.connect();
  readonly member = new Member(this.store, { memberId: 'a', ttlMs: 10_000, clock: this.clock });

  /** The lines of one name, without it. */
  figures(name: string): readonly string[] {
    const lines = this.monitor.prometheus().split('\n');
    return lines.flatMap((line) => (line.startsWith(`${name}{`) ? [line.slice(name.length)] : []));
  }

  /** The only figure of its name. */
  figure(name: string): number {
    const lines = this.figures(name);
    if (lines.length !== 1) throw new Error(`${lines.length} figures of ${name}`);
    return Number(lines[0]?.split('} ')[1]);
  }

  async end(): Promise<void> {
    this.store.link.heal();
    await this.clock.run(this.member.close());
    await this.server.close();
    this.monitor.close();
  }
}

/** Returns what begins the scene of a test. The scene ends after the test. */
export function sceneOfEachTest(): () => Scene {
  let scene: Scene | undefined;
  afterEach(async () => {
    await scene?.end();
    scene = undefined;
  });
  return () => {
    scene = new Scene();
    return scene;
  };
}

/** The labels of the election "jobs" and of the member of the scene. */
export const ABOUT = '{store="memory",election="jobs",member="a"}';
