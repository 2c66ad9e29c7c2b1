/** The completion script for zsh. It can be sourced, or stand in a folder of `fpath`. */

import type { CommandWords, OptionWords, ProgramWords } from './words.ts';

export function zshScript({ name, options, commands }: ProgramWords): string {
  return `#compdef ${name}
# zsh completion of ${name}. Load it with: source <(${name} completion zsh)
_${name}() {
  local line state
  _arguments -C ${options.map(specOf).join(' ')} '1:command:->command' '*::argument:->argument'
  case $state in
    command)
      local -a commands=(
${commands.map((command) => `        ${quoted(`${command.name}:${command.summary}`)}`).join('\n')}
      )
      _describe command commands ;;
    argument)
      case $line[1] in
${commands.map(commandCase).join('\n')}
      esac ;;
  esac
}
if [[ $funcstack[1] == _${name} ]]; then _${name} "$@"; else compdef _${name} ${name}; fi`;
}

function commandCase({ name, options, argument, runsProgram }: CommandWords): string {
  const specs = options.map(specOf);
  if (runsProgram) specs.push(`'(-)1:program: _command_names -e'`, `'*::argument: _normal'`);
  else if (argument.length > 0) specs.push(quoted(`1:argument:(${argument.join(' ')})`));
  // Any text: `_arguments` needs to know that words other than options are allowed.
  else specs.push(`'*: :()'`);
  return [`        ${name})`, '          _arguments -S \\', specs.map((spec) => `            ${spec}`).join(' \\\n') + ' ;;'].join('\n');
}

/** An option as `_arguments` takes it: `'(-q --quiet)'{-q,--quiet}'[print less]'`. */
function specOf({ flags, description, value }: OptionWords): string {
  const names = flags.length > 1 ? `'(${flags.join(' ')})'{${flags.join(',')}}` : flags.join('');
  const action = value === 'file' ? ':file:_files' : value === 'text' ? ':value: ' : '';
  return `${names}${quoted(`[${description.replaceAll(/[\\[\]:]/g, '\\$&')}]${action}`)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
