/** What the fuzzer feeds to the command: durations, and values of other members that it prints. */

import assert from 'node:assert/strict';

import type { FuzzTarget } from '@incumbent/test-support/fuzz';
import fc from 'fast-check';

import { parseDuration, showDuration } from '../../src/common/duration.ts';
import { CliError } from '../../src/exit.ts';
import { showValue } from '../../src/common/json.ts';
import { printable } from '../../src/common/printable.ts';

const utf8 = new TextEncoder();

const durations: FuzzTarget = {
  name: 'durations',
  inputs: fc
    .tuple(fc.oneof(fc.nat().map(String), fc.double({ min: 0, noNaN: true }).map(String)), fc.constantFrom('ms', 's', 'm', 'h', ''))
    .map(([number, unit]) => utf8.encode(number + unit)),
  words: ['ms', 's', 'm', 'h', '.', '1e9', '99999999999999999999999', '0'],
  read: (input) => {
    const ms = parseDuration('--ttl', new TextDecoder().decode(input));
    assert.ok(ms >= 0 && Number.isFinite(ms), `${ms} ms`);
    const shown = showDuration(ms);
    if (ms < 1e15) assert.ok(Math.abs(parseDuration('--ttl', shown) - ms) <= Math.max(1, ms / 100), `${ms} ms is shown as ${shown}`);
  },
  isRefusal: (error) => error instanceof CliError,
};

const values: FuzzTarget = {
  name: 'values',
  inputs: fc.jsonValue().map((value) => utf8.encode(JSON.stringify(value))),
  words: ['\u001b[2J', '\u202e', '\u2028', '\u0085', '\\u001b', '{"a":', '[[[['],
  read: (input) => {
    const text = new TextDecoder().decode(input);
    const shown = printable(text);
    assert.doesNotMatch(shown, /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u);
    const value: unknown = JSON.parse(text);
    const line = printable(showValue(value));
    assert.deepEqual(JSON.stringify(JSON.parse(line)), JSON.stringify(value));
  },
  isRefusal: (error) => error instanceof SyntaxError,
};

export const targets: readonly FuzzTarget[] = [durations, values];
