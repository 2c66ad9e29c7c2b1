/**
 * The default program of an observing process. It shows one observer, or several that come and go
 * over one open store.
 */

import { ElectionObserver } from '@incumbent/core';
import { ELECTION, type Value } from './member-program.ts';
import type { ProgramContext } from './program.ts';
import type { Stream } from '../time/random.ts';

export async function observerProgram(self: ProgramContext): Promise<void> {
  const { observing } = self.shape;
  const stopped = Promise.withResolvers<void>();
  self.stopping.addEventListener('abort', () => stopped.resolve(), { once: true });
  if (observing === undefined) return observe(self, undefined, stopped.promise);
  await Promise.all(Array.from({ length: observing }, (_, i) => comeAndGo(self, String(i + 1), stopped.promise)));
}

/** Opens one observer after the other. The observer that exists when the storm ends stays. */
async function comeAndGo(self: ProgramContext, place: string, stopped: Promise<void>): Promise<void> {
  const { stopping, shape } = self;
  const random = self.streamFor(`observer ${place}`);
  for (let nth = 1; !stopping.aborted; nth += 1) {
    await nap(self, self.calm ? 0 : random.below(random.pick([shape.ttlMs / 8, 2 * shape.ttlMs])), stopped);
    if (stopping.aborted) return;
    await observe(self, `${place}.${nth}`, stay(self, random, stopped));
  }
}

async function stay(self: ProgramContext, random: Stream, stopped: Promise<void>): Promise<void> {
  if (!self.calm) await nap(self, random.below(2 * self.shape.ttlMs), stopped);
  if (self.calm) await stopped;
}

/** `name` distinguishes the observers of a process that has several. */
async function observe(self: ProgramContext, name: string | undefined, over: Promise<void>): Promise<void> {
  const { store, clock, random, logger } = self;
  const observer = new ElectionObserver<Value>(store, ELECTION, { clock, random, logger });
  observer.subscribe((view) => self.reportView(view, name));
  await over;
  await observer.close();
  if (name !== undefined) self.reportObserverClosed(name);
}

/** Resolves after this time or when `woken` resolves. Leaves no timer behind. */
async function nap({ clock }: ProgramContext, ms: number, woken: Promise<void>): Promise<void> {
  const over = Promise.withResolvers<void>();
  const cancel = clock.schedule(ms, over.resolve);
  void woken.then(over.resolve);
  await over.promise;
  cancel();
}
