#!/usr/bin/env node
import { endByDefault } from '@incumbent/core/adapter';
import { openStore } from 'incumbent';

import { runCli } from './cli.ts';
import { Printer } from './common/printer.ts';

const { env, stdout, stderr } = process;

// For commands that listen to no signals. In its image, this process is PID 1.
endByDefault(['SIGTERM', 'SIGINT', 'SIGHUP']);
void runCli(process.argv.slice(2), { env, out: new Printer(stdout, env), err: new Printer(stderr, env), openStore }).then((code) => {
  process.exitCode = code;
});
