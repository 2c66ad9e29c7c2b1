#!/usr/bin/env node
import { openStore } from 'incumbent';

import { runCli } from './cli.ts';
import { Printer } from './common/printer.ts';

const { env, stdout, stderr } = process;

void runCli(process.argv.slice(2), { env, out: new Printer(stdout, env), err: new Printer(stderr, env), openStore }).then((code) => {
  process.exitCode = code;
});
