/** The completion script for bash, 4 or newer. It needs no other package. */

import type { CommandWords, OptionWords, ProgramWords } from './words.ts';

export function bashScript({ name, options, commands }: ProgramWords): string {
  const cases = commands.map((command) => commandCase(command)).join('\n');
  return `# bash completion of ${name}. Load it with: source <(${name} completion bash)
_${name}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]}
  local command= after= words= argument= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      --) after=$((COMP_CWORD - i)); break ;;
      -*) ;;
      *) [[ -n $command ]] || command=\${COMP_WORDS[i]} ;;
    esac
  done
  case $command in
    '') words='${flagsOf(options)}' argument='${commands.map((command) => command.name).join(' ')}' ;;
${cases}
  esac
  if [[ -n $after ]]; then words=; fi
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  else
    COMPREPLY=($(compgen -W "$argument" -- "$cur"))
  fi
}
complete -F _${name} ${name}`;
}

function commandCase(command: CommandWords): string {
  const { name, options, argument, runsProgram } = command;
  const lines: string[] = [];
  if (runsProgram) {
    lines.push('case $after in', `  1) COMPREPLY=($(compgen -c -- "$cur")); return ;;`);
    lines.push(`  ?*) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;`, 'esac');
  }
  const [files, texts] = [valuesOf(options, 'file'), valuesOf(options, 'text')];
  if (files !== '' || texts !== '') {
    lines.push('case $prev in');
    if (files !== '') lines.push(`  ${files}) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;`);
    if (texts !== '') lines.push(`  ${texts}) return ;;`);
    lines.push('esac');
  }
  lines.push(`words='${flagsOf(options)}' argument='${argument.join(' ')}' ;;`);
  return [`    ${name})`, ...lines.map((line) => `      ${line}`)].join('\n');
}

function flagsOf(options: readonly OptionWords[]): string {
  return options.flatMap(({ flags }) => flags).join(' ');
}

function valuesOf(options: readonly OptionWords[], value: OptionWords['value']): string {
  return options
    .filter((option) => option.value === value)
    .flatMap(({ flags }) => flags)
    .join('|');
}
