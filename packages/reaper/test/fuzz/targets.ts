/** Fuzz target: the messages that both ends of the pipe between a process and its reaper parse. */

import assert from 'node:assert/strict';

import type { FuzzTarget } from '@incumbent/test-support/fuzz';
import fc from 'fast-check';

import {
  parseParentMessage,
  parseReaperMessage,
  serializeMessage,
  splitLines,
  type ReaperMessage,
  type ParentMessage,
} from '../../src/messages.ts';

const id = fc.nat(1_000);
const message: fc.Arbitrary<ParentMessage | ReaperMessage> = fc.oneof(
  fc.record({ type: fc.constant('parent' as const), pid: id, started: fc.string(), space: fc.string() }),
  fc.record({ type: fc.constant('store' as const), store: id, module: fc.webUrl(), access: fc.string() }),
  fc.record({ type: fc.constant('lease' as const), lease: id, store: id, owner: id, ticket: fc.string(), from: fc.nat() }),
  fc.record({ type: fc.constant('renewed' as const), lease: id, safeUntil: fc.nat(), wallSafeUntil: fc.nat(), overBy: fc.nat() }),
  fc.record({ type: fc.constant('ended' as const), lease: id, at: fc.nat() }),
  fc.record({ type: fc.constantFrom('forget' as const), lease: id }),
  fc.record({ type: fc.constant('group' as const), pid: id, owner: id, at: fc.nat(), wallAt: fc.nat() }),
  fc.record({ type: fc.constant('release' as const), pid: id }),
  fc.record({ type: fc.constantFrom('end' as const, 'ready' as const) }),
  fc.record({ type: fc.constant('refused' as const), why: fc.string() }),
);

const messages: FuzzTarget = {
  name: 'messages',
  inputs: fc.array(message, { minLength: 1, maxLength: 3 }).map((all) => new TextEncoder().encode(all.map(serializeMessage).join(''))),
  words: ['{"type":', '"store"', '"lease":', '"pid":', '1e999', 'null', '\n', '"__proto__":'],
  read: (input) => {
    const take = splitLines((line) => {
      for (const read of [parseParentMessage, parseReaperMessage]) {
        try {
          const parsed = read(line);
          if (parsed === undefined) continue;
          assert.deepEqual(JSON.stringify(read(serializeMessage(parsed).trimEnd())), JSON.stringify(parsed));
        } catch (error) {
          if (!(error instanceof SyntaxError)) throw error;
        }
      }
    });
    take(new TextDecoder().decode(input));
  },
  isRefusal: () => false,
};

export const targets: readonly FuzzTarget[] = [messages];
