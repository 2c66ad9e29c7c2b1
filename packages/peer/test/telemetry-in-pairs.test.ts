/** Telemetry reports the start of each leadership once, and then its end once. */

import { describe, expect, it } from 'vitest';
import { Group, logger, TestStorage } from './support.ts';

/** How long its writes take, in ms. */
class SlowStorage extends TestStorage {
  readonly #group: Group;
  slowMs = 0;

  constructor(group: Group) {
    super();
    this.#group = group;
  }

  override async save(durable: unknown): Promise<void> {
    const { slowMs } = this;
    if (slowMs > 0) await new Promise<void>((resolve) => void this.#group.clock.schedule(slowMs, resolve));
    await super.save(durable);
  }
}

const words = ['elected', 'leadership ended', 'leadership released'];

describe('the telemetry of a member without a store', () => {
  it.each([['x'], ['a', 'b', 'c']])('does not report a leadership that is over before its vote is saved (%s, …)', async (...ids) => {
    await using group = new Group(ids);
    const storage = new SlowStorage(group);
    const log = logger();
    const [first = '', ...others] = ids;
    const member = group.member(first, { storage, logger: log });
    await Promise.all(others.map((id) => group.member(id).start()));
    storage.slowMs = 60_000;
    const caller = new AbortController();
    const campaign = member.campaign({ signal: caller.signal });
    campaign.catch(() => {});
    await group.clock.advance(90_000);
    storage.slowMs = 0;
    const leadership = await group.clock.run(campaign);
    await group.clock.run(leadership.resign());
    const messages = log.lines.flatMap(({ message }) => (words.includes(message) ? [message] : []));
    expect(messages).toEqual(words);
  });
});
