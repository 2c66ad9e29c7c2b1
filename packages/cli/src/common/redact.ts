/**
 * Keeps secrets out of the parser's errors, which quote arguments: a store's URL may be among them
 * by mistake.
 */

import { describeHidden, showUrl } from '@incumbent/core/adapter';

/**
 * The text, with the type and length of every argument that may contain a secret in place of it.
 */
export function redactArguments(text: string, args: readonly string[]): string {
  // The longest first, because one argument may be a part of another.
  const secrets = args.filter((arg) => /[:@=]/.test(arg)).toSorted((a, b) => b.length - a.length);
  const redacted = secrets.reduce((rest, arg) => rest.replaceAll(arg, () => showArgument(arg)), text);
  // The parser splits joined short options, and quotes the rest of the argument.
  return redacted.replace(/(?<=')-[^\n]*@.*/s, '…');
}

function showArgument(arg: string): string {
  const [, option] = /^(--[A-Za-z-]+)=/.exec(arg) ?? [];
  if (option !== undefined) return `${option}=…`;
  return arg.includes('://') ? showUrl(arg) : `(${describeHidden(arg)})`;
}
