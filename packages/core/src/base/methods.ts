/** Explains the call of a method without its object. */

interface ClassWithMethods {
  readonly prototype: object;
  [Symbol.hasInstance](value: unknown): boolean;
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

/**
 * Makes the methods of a class throw a `TypeError` that explains itself if they are called without
 * their object, as after `const { isValid } = leadership`. Without this, the error would speak of a
 * private field. Binding them instead would cost memory for each object. Call it in the class's
 * static block. `object` is what the sentence calls the object.
 */
export function explainDetached(Class: ClassWithMethods, object: string): void {
  const { prototype } = Class;
  for (const [method, { value, ...rest }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    if (method === 'constructor' || !isMethod(value)) continue;
    Object.defineProperty(prototype, method, { ...rest, value: attached(value, method, object, (self) => self instanceof Class) });
  }
}

function isMethod(value: unknown): value is Method {
  return typeof value === 'function';
}

/**
 * After its first calls, V8 makes no array of the arguments: `pnpm verify is-valid` measures it.
 */
function attached(method: Method, name: string, object: string, isOwn: (self: unknown) => boolean): Method {
  return function (this: unknown, ...args: unknown[]): unknown {
    if (isOwn(this)) return method.apply(this, args);
    throw new TypeError(
      `${name} was called without its object: call ${object}.${name}(…), and do not take the method out of the ${object} ` +
        `(const { ${name} } = ${object})`,
    );
  };
}
