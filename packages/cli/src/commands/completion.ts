/** `incumbent completion`: a script that completes the command line of `incumbent` in a shell. */

import { describeHidden } from '@incumbent/core/adapter';
import { Argument } from 'commander';

import { bashScript } from '../completion/bash.ts';
import { fishScript } from '../completion/fish.ts';
import { type ProgramWords, wordsOf } from '../completion/words.ts';
import { zshScript } from '../completion/zsh.ts';
import { examples, type CommandParent } from '../common/options.ts';
import { Exit, EXIT_MEANINGS, usageError } from '../exit.ts';

const SCRIPTS: Readonly<Record<string, (words: ProgramWords) => string>> = { bash: bashScript, zsh: zshScript, fish: fishScript };
const SHELLS = Object.keys(SCRIPTS);

export function addCompletion({ root, context, end }: CommandParent): void {
  root
    .command('completion')
    .summary('print a script that completes commands in a shell')
    .description('Print a script that completes the commands and options of incumbent in bash, zsh or fish. Needs no store.')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS).argParser(parseShell))
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', COMPLETION_HELP)
    .addHelpText('after', `\nExit codes:\n  0  done\n  2  ${EXIT_MEANINGS[Exit.USAGE]}`)
    .addHelpText('after', examples('source <(incumbent completion bash)', 'incumbent completion fish | source'))
    .action((shell: string) => end(completion(shell)));

  async function completion(shell: string): Promise<number> {
    context.out.write(`${SCRIPTS[shell]?.(wordsOf(root)) ?? ''}\n`);
    return Exit.OK;
  }
}

const COMPLETION_HELP = `
To load the script in every new shell, add a line to the shell's file:
  bash  ~/.bashrc                    source <(incumbent completion bash)
  zsh   ~/.zshrc, after compinit     source <(incumbent completion zsh)
  fish  ~/.config/fish/config.fish   incumbent completion fish | source`;

function parseShell(text: string): string {
  if (SHELLS.includes(text)) return text;
  throw usageError(`the shell is ${describeHidden(text)}: it must be one of ${SHELLS.join(', ')}`);
}
