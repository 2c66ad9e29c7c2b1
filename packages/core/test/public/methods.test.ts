import { describe, expect, it } from 'vitest';
import { ElectionAdmin, ElectionObserver, Fence, StoredValueObserver } from '../../src/index.ts';
import { explainDetached } from '../../src/base/methods.ts';
import { NAME, World } from '../support/world.ts';

/** All methods of an object's class that are named by text. */
function methodsOf(object: object): readonly (readonly [string, () => unknown])[] {
  const prototype: object = Object.getPrototypeOf(object);
  return Object.entries(Object.getOwnPropertyDescriptors(prototype)).flatMap(([name, { value }]) =>
    name === 'constructor' || typeof value !== 'function' ? [] : [[name, () => Reflect.apply(value, undefined, [])] as const],
  );
}

describe('a method that was taken out of its object', () => {
  it('explains itself, in every public class', async () => {
    const world = new World();
    const store = world.connect();
    const member = world.member('a', {}, store);
    const leadership = await world.elect(member);
    const objects = {
      member,
      election: member.election(NAME),
      group: member.group('g'),
      leadership,
      stored: leadership.stored('key'),
      observer: new ElectionObserver(store, NAME, { clock: world.clock }),
      admin: new ElectionAdmin(store, NAME),
      fence: new Fence(),
    };
    const observed = new StoredValueObserver(store, 'key', { clock: world.clock });
    for (const [object, instance] of [...Object.entries(objects), ['observer', observed] as const]) {
      const methods = methodsOf(instance);
      expect(methods.length).toBeGreaterThan(0);
      for (const [name, call] of methods) {
        expect(call, `${object}.${name}`).toThrow(
          `${name} was called without its object: call ${object}.${name}(…), and do not take the method out of the ${object} (const { ${name} } = ${object})`,
        );
      }
    }
    await world.close();
  });
});

describe('a class whose methods explain themselves', () => {
  class Adder {
    readonly #base = 10;

    static {
      explainDetached(Adder, 'adder');
    }

    get base(): number {
      return this.#base;
    }

    add(a: number, b = 5): number {
      return this.#base + a + b;
    }
  }

  class Doubler extends Adder {
    override add(a: number): number {
      return 2 * super.add(a);
    }
  }

  it('passes on arguments, defaults and overrides, and keeps its getters', () => {
    expect([new Adder().add(1, 2), new Adder().add(1), new Doubler().add(1), new Adder().base]).toEqual([13, 16, 32, 10]);
    expect(Object.keys(new Adder())).toEqual([]);
  });
});
