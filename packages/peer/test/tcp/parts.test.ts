/** The smaller parts of the transport: seals, outbox and options. */

import { describe, expect, it } from 'vitest';
import { TcpTransport, type TcpTransportOptions } from '../../src/index.ts';
import { Outbox } from '../../src/tcp/outbox.ts';
import { SharedKeys, unsealed } from '../../src/tcp/seal.ts';

const bytes = (text: string): Buffer => Buffer.from(text);
const keys = (secret = 'secret', ...said: readonly string[]): SharedKeys => new SharedKeys(bytes(secret), said.map(bytes));

describe('a seal', () => {
  const sealed = (mark: Uint8Array, content: string): Buffer => Buffer.concat([mark, bytes(content)]);

  it('opens the frames of the other side in order, once, and in one direction only', () => {
    const [ours, theirs] = [keys().seal('dialer'), keys().seal('dialer')];
    const frames = ['one', 'two', 'two'].map((content) => sealed(ours.sign(bytes(content)), content));
    expect(String(theirs.open(frames[0]!))).toBe('one');
    const forged = expect.objectContaining({ reason: 'forged' });
    const others = [frames[0]!, frames[2]!, sealed(frames[1]!.subarray(0, 32), 'twO'), Buffer.alloc(0), Buffer.alloc(32)];
    for (const other of others) {
      const second = keys().seal('dialer');
      second.open(frames[0]!);
      expect(() => second.open(other)).toThrow(forged);
    }
    expect(String(theirs.open(frames[1]!))).toBe('two');
    expect(() => keys().seal('listener').open(frames[0]!)).toThrow(forged);
    // The same content sent twice has two different seals.
    expect(frames[1]!.equals(frames[2]!)).toBe(false);
    expect(unsealed.open(frames[0]!)).toBe(frames[0]);
  });

  it('differs for each secret, each conversation and each purpose', () => {
    const all = [
      keys('a', 'x'),
      keys('b', 'x'),
      keys('a', 'y'),
      keys('a', 'x', ''),
      keys('a', '', 'x'),
      keys('a', 'xy'),
      keys('a', 'x', 'y'),
    ];
    const marks = all.flatMap((one) => [
      ...(['dialer', 'listener'] as const).flatMap((side) => [one.proof(side), one.seal(side).sign(bytes(''))]),
    ]);
    expect(new Set(marks.map((mark) => Buffer.from(mark).toString('hex'))).size).toBe(marks.length);
    expect(keys('a', 'x').proof('dialer')).toEqual(keys('a', 'x').proof('dialer'));
  });
});

describe('an outbox', () => {
  it('keeps the newest message of each sort, oldest first, however many are put', () => {
    const outbox = new Outbox(100);
    for (let round = 0; round < 10_000; round += 1) outbox.put('heartbeat', bytes(`heartbeat ${round}`), 0);
    outbox.put('vote', bytes('vote 1'), 0);
    outbox.put('heartbeat', bytes('heartbeat last'), 0);
    outbox.put('stale', bytes('stale'), 0);
    expect(outbox.size).toBe(3);
    expect([0, 0, 0, 0].map((now) => outbox.take(now)?.toString())).toEqual(['vote 1', 'heartbeat last', 'stale', undefined]);
  });

  it('keeps no message that has waited for too long, although nobody takes it and each election is a new one', () => {
    const outbox = new Outbox(100);
    for (let nowMs = 0; nowMs <= 10_000; nowMs += 10) {
      outbox.put(`election-${nowMs} vote`, bytes('vote'), nowMs);
      outbox.put('controller heartbeat', bytes(`heartbeat ${nowMs}`), nowMs);
    }
    expect(outbox.size).toBe(12);
    expect(outbox.take(10_100)?.toString()).toBe('vote');
    expect(outbox.take(10_100)?.toString()).toBe('heartbeat 10000');
    expect(outbox.take(10_100)).toBeUndefined();
  });

  it('drops messages that have waited for too long', () => {
    const outbox = new Outbox(100);
    outbox.put('vote', bytes('old'), 0);
    outbox.put('heartbeat', bytes('new'), 50);
    expect(outbox.take(101)?.toString()).toBe('new');
    outbox.put('vote', bytes('more'), 0);
    outbox.clear();
    expect(outbox.take(0)).toBeUndefined();
  });
});

describe('a transport over TCP', () => {
  const options: TcpTransportOptions = { memberId: 'a', members: { a: 'localhost:7401', b: 'localhost:7402' }, secret: '0123456789abcdef' };

  function refusal(changes: object): string {
    try {
      void new TcpTransport({ ...options, ...changes });
    } catch (error) {
      expect(error).toMatchObject({ code: expect.stringMatching(/^INVALID_(?:OPTION|NAME)$/) });
      return String(error);
    }
    throw new Error(`taken: ${JSON.stringify(changes)}`);
  }

  it('is made without any I/O', async () => {
    const transport = new TcpTransport(options);
    expect([transport.memberId, transport.connected, transport.refused.wrongSecret]).toEqual(['a', [], 0]);
    await transport.close();
  });

  it('needs exactly one of a secret, certificates and `insecure: true`', () => {
    expect(refusal({ secret: undefined })).toContain('insecure: true, and whoever reaches the port can be any member');
    expect(refusal({ secret: undefined, insecure: false })).toContain('insecure: true');
    expect(refusal({ insecure: true })).toContain('one of them, and not more');
    expect(refusal({ insecure: 'yes' })).toContain('insecure is a string of 3 characters: it must be true or false');
    expect(refusal({ secret: 'short' })).toContain('secret is 5 bytes: it must be at least 16 bytes');
    expect(refusal({ secret: 5 })).toContain('a string or bytes');
    expect(refusal({ secret: undefined, tls: { ca: 'x' } })).toContain('tls.cert');
    expect(refusal({ secret: undefined, tls: { cert: 'x', key: 'y' } })).toContain('tls.ca');
    expect(refusal({ secret: undefined, tls: { ca: 'x', cert: 'x', key: 'y', nameOf: 'b' } })).toContain('nameOf');
    expect(refusal({ secret: undefined, tls: { ca: 'x', cert: 'x', key: 'y', rejectUnauthorized: false } })).toContain(
      'rejectUnauthorized',
    );
  });

  it('names the option that is wrong', () => {
    expect(refusal({ memberId: 'z' })).toContain('memberId is "z": it must be one of the members: a, b');
    expect(refusal({ members: ['a'] })).toContain('members');
    expect(refusal({ members: undefined })).toContain('members and seeds is none of them');
    expect(refusal({ seeds: { a: 'host' } })).toContain('members and seeds is both of them');
    expect(refusal({ address: 'host' })).toContain('address is a string of 4 characters: it must be left out');
    expect(refusal({ members: undefined, seeds: { b: 'host' } })).toContain('address is undefined: it must be given');
    expect(refusal({ members: undefined, seeds: () => ({ a: 'host' }) })).toContain('address is undefined: it must be given');
    expect(refusal({ members: undefined, seeds: ['host'] })).toContain('seeds is an array');
    expect(refusal({ members: undefined, seeds: { a: 'http://host' } })).toContain('endpoint');
    expect(refusal({ members: { a: 'http://host' } })).toContain('endpoint');
    expect(refusal({ members: { 'a b': 'host' } })).toContain('"a b"');
    expect(refusal({ keepaliveMs: 1 })).toContain('from 50 to 60000');
    expect(refusal({ handshakeTimeoutMs: 1 })).toContain('from 100 to 60000');
    expect(refusal({ listen: 'a:b:c' })).toContain('endpoint');
    expect(refusal({ lisen: 'a' })).toContain('"lisen"');
    expect(refusal({ logger: 1 })).toContain('logger');
  });
});
