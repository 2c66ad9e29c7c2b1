import { afterEach, describe, expect, it, vi } from 'vitest';

import { ProcessGroup } from '../../src/run/process-group.ts';
import { Stopper } from '../../src/run/stopper.ts';

describe('a stopper', () => {
  afterEach(() => void vi.useRealTimers());

  it('does not send SIGKILL at once after a grace that is longer than a timer can wait', () => {
    vi.useFakeTimers();
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const group = new ProcessGroup(['true'], {});
    const stopper = new Stopper(group);
    stopper.terminate(1_000 * 3_600_000);
    // Node takes a delay of more than 31 bits as 1 ms.
    expect(timers.mock.calls.map(([, ms]) => ms)).toEqual([2 ** 31 - 1]);
    stopper.cancel();
  });
});
