import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { payloadCodec, type StandardSchema, type ValueCodec, valueCodec, type ValueOptions } from '../../src/protocol/value-codec.ts';
import { isIncumbentError } from '../../src/index.ts';
import { readCandidate, writeCandidate } from '../../src/protocol/record.ts';
import { writeHandoverTerm } from '../../src/protocol/mark.ts';
import { entryOf } from '../support/entries.ts';
import { check } from '../support/property.ts';

const asIs: ValueCodec<Uint8Array> = { encode: (bytes) => bytes, decode: (bytes) => bytes };

function schema<V>(validate: (value: unknown) => unknown): StandardSchema<V> {
  return { '~standard': { version: 1, vendor: 'test', validate } };
}

describe('JSON', () => {
  it('comes back as JSON has it', () => {
    const codec = payloadCodec({});
    check(
      fc.property(fc.jsonValue(), (value) => {
        expect(codec.decode(codec.encode(value), 'k')).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
    expect(codec.decode(codec.encode(null), 'k')).toBeNull();
    expect(codec.encode(undefined)).toBeUndefined();
    expect(codec.decode(undefined, 'k')).toBeUndefined();
  });

  it('is a copy: what the caller changes later is not published', () => {
    const value = { host: 'a' };
    const payload = payloadCodec({}).encode(value);
    value.host = 'b';
    expect(payload).toEqual({ json: { host: 'a' } });
  });

  it('may be a thousand levels deep, and no deeper', () => {
    const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
    const entry = entryOf('k', writeCandidate(payloadCodec({}).encode(nested(1_000)), 0n, 0n));
    expect(readCandidate(entryOf('k', writeHandoverTerm(entry, 1n))).payload).toEqual({ json: nested(1_000) });
    for (const levels of [1_001, 100_000])
      expect(() => payloadCodec({}).encode(nested(levels))).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining('it must be at most 1000 levels deep') }),
      );
    const brackets = { quote: `\\"${'[{'.repeat(2_000)}` };
    expect(payloadCodec({}).encode(brackets)).toEqual({ json: brackets });
  });

  it.each([
    ['a bigint', 5n],
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['a cycle', cycle()],
  ])('refuses %s, which it cannot hold', (_, value) => {
    expect(() => payloadCodec({}).encode(value)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });
});

describe('a schema', () => {
  it('may be a function, which types and checks what is read', () => {
    const { decode } = payloadCodec({ parse: (value) => Number(value) + 1 });
    expect(decode({ json: 1 }, 'k')).toBe(2);
    expect(decode(undefined, 'k')).toBeUndefined();
    const cause = new TypeError('not so');
    const failing = payloadCodec({ parse: () => raise(cause) });
    expect(() => failing.decode({ json: 1 }, 'k')).toThrow(expect.objectContaining({ code: 'FOREIGN_DATA', details: { key: 'k' }, cause }));
  });

  it('may be a Standard Schema; what does not fit is foreign data, with its issues', () => {
    const { decode } = payloadCodec({
      parse: schema<number>((value) => (typeof value === 'number' ? { value } : { issues: [{ message: 'no' }] })),
    });
    expect(decode({ json: 4 }, 'k')).toBe(4);
    expect(() => decode({ json: 'x' }, 'k')).toThrow(
      expect.objectContaining({ code: 'FOREIGN_DATA', details: { key: 'k', issues: [{ message: 'no' }] } }),
    );
  });

  it.each<[string, ValueOptions, string]>([
    ['schema', { parse: schema(rejects) }, 'parse works asynchronously'],
    ['function', { parse: rejects }, 'parse works asynchronously'],
    ['codec', { codec: { encode: () => new Uint8Array(), decode: rejects } }, 'codec.decode works asynchronously'],
  ])('that is asynchronous is refused by name, and its rejection is handled: a %s', (_, options, message) => {
    const cause = expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(message) });
    const payload = options.codec === undefined ? { json: 1 } : { bytes: '' };
    expect(() => payloadCodec(options).decode(payload, 'k')).toThrow(expect.objectContaining({ code: 'FOREIGN_DATA', cause }));
    expect(() => valueCodec(options).decode(new TextEncoder().encode('1'))).toThrow(message);
  });

  it('may return a value with a property `then` that is no function', () => {
    const { decode } = payloadCodec({ parse: (value) => value });
    expect(decode({ json: { then: 1 } }, 'k')).toEqual({ then: 1 });
  });

  it.each([5, {}, { '~standard': {} }, { '~standard': { version: 2, validate: () => ({}) } }])(
    'that is none is refused at construction: %j',
    (parse) => {
      expect(() => Reflect.apply(payloadCodec, undefined, [{ parse }])).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
    },
  );
});

describe('bytes', () => {
  it('come back as they were, of any length', () => {
    const codec = payloadCodec({ codec: asIs });
    check(
      fc.property(fc.uint8Array({ maxLength: 2_000 }), (bytes) => {
        expect(codec.decode(codec.encode(bytes), 'k')).toEqual(bytes);
      }),
    );
    const large = new Uint8Array(1_000_000).fill(255);
    expect(codec.decode(codec.encode(large), 'k')).toEqual(large);
    expect(codec.encode(undefined)).toBeUndefined();
    expect(codec.decode(undefined, 'k')).toBeUndefined();
  });

  it('from elsewhere are foreign data when they are no base64, and nothing else ever', () => {
    const codec = payloadCodec({ codec: asIs });
    check(
      fc.property(fc.string({ unit: 'binary' }), (hostile) => {
        try {
          expect(codec.decode({ bytes: hostile }, 'k')).toBeInstanceOf(Uint8Array);
        } catch (error) {
          expect(isIncumbentError(error, 'FOREIGN_DATA'), String(error)).toBe(true);
        }
      }),
    );
  });

  it('and JSON are not confused', () => {
    expect(() => payloadCodec({ codec: asIs }).decode({ json: 1 }, 'k')).toThrow(expect.objectContaining({ code: 'FOREIGN_DATA' }));
    expect(() => payloadCodec({}).decode({ bytes: '' }, 'k')).toThrow(expect.objectContaining({ code: 'FOREIGN_DATA' }));
  });

  it.each<[string, unknown, string]>([
    ['text', () => 'garbage', 'a string of 7 characters'],
    ['an array', () => [1, 2], 'an array of 2'],
    ['nothing', () => {}, 'undefined'],
    ['a promise', rejects, 'an object'],
  ])('are refused when the codec returns %s instead', (_, encode, what) => {
    const message = `codec.encode is a function that returns ${what}: it must be a function that returns a Uint8Array`;
    for (const make of [payloadCodec, valueCodec]) {
      const codec: ValueCodec = Reflect.apply(make, undefined, [{ codec: { encode, decode: asIs.decode } }]);
      expect(() => codec.encode({ a: 1 })).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', message }));
    }
  });

  it.each([
    ['together with parse', { codec: asIs, parse: (value: unknown) => value }],
    ['without encode', { codec: { decode: asIs.decode } }],
    ['without decode', { codec: { encode: asIs.encode } }],
  ])('are refused at construction %s', (_, options) => {
    expect(() => Reflect.apply(payloadCodec, undefined, [options])).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });
});

async function rejects(): Promise<never> {
  throw new Error('refused');
}

function cycle(): object {
  const self: { self?: object } = {};
  self.self = self;
  return self;
}

function raise(error: Error): never {
  throw error;
}
