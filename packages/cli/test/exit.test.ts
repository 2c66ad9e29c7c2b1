import { IncumbentError } from '@incumbent/core';
import { describe, expect, it } from 'vitest';

import { toCliError } from '../src/exit.ts';

describe('an error of the SDK', () => {
  it('names the options of the command, and not those of the API', () => {
    const details = { store: 'redis', election: 'a' };
    const message = "pass acceptWeakStore: 'redis' in the options of this call, or of the host that makes it";
    const weak = toCliError(new IncumbentError('WEAK_STORE', message, { details }));
    expect(weak.message).toBe('pass --accept-weak-store redis');
  });

  it('offers --member to a process whose member id is taken', () => {
    const message = 'another process holds the member id "a". Give each process its own memberId, or choose onDuplicate: \'wait\' waits, …';
    const error = toCliError(new IncumbentError('DUPLICATE_MEMBER', message, { details: { memberId: 'a', waitedMs: 0 } }));
    expect(error.text).toBe('DUPLICATE_MEMBER: another process holds the member id "a". Give each process its own --member');
  });
});
