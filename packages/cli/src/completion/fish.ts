/** The completion script for fish. */

import type { CommandWords, OptionWords, ProgramWords } from './words.ts';

export function fishScript({ name, options, commands }: ProgramWords): string {
  const line = (condition: string, rest: string): string => `complete -c ${name} -n '${condition}' ${rest}`;
  const first = '__fish_use_subcommand';
  return [
    `# fish completion of ${name}. Load it with: ${name} completion fish | source`,
    `function __${name}_program`,
    '  set -l words (commandline -opc) (commandline -ct)',
    '  set -l end (contains -i -- -- $words); or return',
    "  complete -C (string join ' ' -- $words[(math $end + 1)..-1])",
    'end',
    `complete -c ${name} -f`,
    ...options.map((option) => line(first, optionOf(option))),
    ...commands.map(({ name: command, summary }) => line(first, `-a ${command} -d ${quoted(summary)}`)),
    ...commands.flatMap((command) => [
      ...command.options.map((option) => line(within(command), optionOf(option))),
      ...(command.runsProgram ? [line(`${within(command)}; and contains -- -- (commandline -opc)`, `-a '(__${name}_program)'`)] : []),
      ...(command.argument.length > 0 ? [line(within(command), `-a ${quoted(command.argument.join(' '))}`)] : []),
    ]),
  ].join('\n');
}

function within({ name }: CommandWords): string {
  return `__fish_seen_subcommand_from ${name}`;
}

function optionOf({ flags, description, value }: OptionWords): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const kind = { none: [], file: ['-r -F'], text: ['-x'] }[value];
  return [...names, ...kind, `-d ${quoted(description)}`].join(' ');
}

function quoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
}
