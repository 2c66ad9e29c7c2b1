/** What can be completed, from the program's own table of commands, options and arguments. */

import type { Argument, Command, Option } from 'commander';

export interface CommandWords {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly OptionWords[];
  /** The words of the first argument. Empty if it can be any text. */
  readonly argument: readonly string[];
  /** True if the command line of another program follows `--`. */
  readonly runsProgram: boolean;
}

export interface OptionWords {
  /** With their dashes: `--quiet`, and `-q` if there is one. */
  readonly flags: readonly string[];
  readonly description: string;
  readonly value: 'none' | 'file' | 'text';
}

/** The words of the program itself, and of its commands in the order of its help. */
export interface ProgramWords {
  readonly name: string;
  readonly options: readonly OptionWords[];
  readonly commands: readonly CommandWords[];
}

export function wordsOf(root: Command): ProgramWords {
  const help = root.createHelp();
  const commands = help.visibleCommands(root);
  const names = commands.map((command) => command.name());
  return {
    name: root.name(),
    options: optionsOf(root),
    commands: commands.map((command) => ({
      name: command.name(),
      summary: help.subcommandDescription(command),
      options: optionsOf(command),
      argument: command.name() === 'help' ? names : choicesOf(command.registeredArguments[0]),
      runsProgram: command.registeredArguments.some((argument) => argument.variadic && argument.name() === 'program'),
    })),
  };
}

function choicesOf(argument: Argument | undefined): readonly string[] {
  return argument?.argChoices ?? [];
}

function optionsOf(command: Command): readonly OptionWords[] {
  return command.createHelp().visibleOptions(command).map(optionWords);
}

function optionWords({ long, short, description, required, optional, flags }: Option): OptionWords {
  const takesValue = required || optional;
  return {
    flags: [long, short].flatMap((flag) => flag ?? []),
    description,
    value: takesValue ? (/<file>/.test(flags) ? 'file' : 'text') : 'none',
  };
}
