/** `incumbent postgres`: the statements that create the schema of a PostgreSQL store. */

import { describeHidden } from '@incumbent/core/adapter';
import { Argument } from 'commander';

import { examples, type CommandParent } from '../common/options.ts';
import { Exit, EXIT_MEANINGS, usageError } from '../exit.ts';

interface PostgresOptions {
  readonly schema?: string;
  readonly grantTo?: string;
}

export function addPostgres({ root, context, end }: CommandParent): void {
  root
    .command('postgres')
    .summary('print the SQL that creates the schema of a PostgreSQL store')
    .description('Print the statements that create or update the schema of a PostgreSQL store. Connects to no server.')
    .addArgument(new Argument('<what>', 'what to print').choices(['schema']).argParser(parseWhat))
    .option('--schema <name>', 'the name of the schema (default: incumbent)')
    .option('--grant-to <role>', 'also grant this role what the store needs')
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', POSTGRES_HELP)
    .addHelpText('after', `\nExit codes:\n  0  done\n  2  ${EXIT_MEANINGS[Exit.USAGE]}`)
    .addHelpText('after', examples('incumbent postgres schema --grant-to app | psql shop'))
    .action((_: string, options: PostgresOptions) => end(printSchema(options)));

  async function printSchema({ schema, grantTo }: PostgresOptions): Promise<number> {
    const { grantSql, schemaSql } = await import('@incumbent/postgres');
    const statements = schemaSql(schema);
    context.out.write(grantTo === undefined ? statements : `${statements}${grantSql(schema, grantTo)};\n`);
    return Exit.OK;
  }
}

const POSTGRES_HELP = `
A store creates its schema when it opens, if its role may do so. Otherwise run these statements as
a role that may. Running them again changes nothing, also while elections are under way. A schema of
a newer version stays as it is.`;

function parseWhat(text: string): string {
  if (text === 'schema') return text;
  throw usageError(`what to print is ${describeHidden(text)}: it must be schema`);
}
