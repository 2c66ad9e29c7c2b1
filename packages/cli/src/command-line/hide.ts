/** Keeps secrets out of the parser's complaints, which quote arguments: the store's URL may stand in a wrong place. */

import { describeHidden, showUrl } from '@incumbent/core/adapter';

/** The text, with every argument that may hold a secret shown as its kind and length. */
export function hideIn(text: string, args: readonly string[]): string {
  // The longest first: one may be a part of another.
  const secrets = args.filter((arg) => /[:@=]/.test(arg)).toSorted((a, b) => b.length - a.length);
  const shown = secrets.reduce((rest, arg) => rest.replaceAll(arg, () => showArgument(arg)), text);
  // The parser splits joined short options, and quotes what is left.
  return shown.replace(/(?<=')-[^\n]*@.*/s, '…');
}

function showArgument(arg: string): string {
  const [, option] = /^(--[A-Za-z-]+)=/.exec(arg) ?? [];
  if (option !== undefined) return `${option}=…`;
  return arg.includes('://') ? showUrl(arg) : `(${describeHidden(arg)})`;
}
