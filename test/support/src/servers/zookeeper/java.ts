import { access, readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { folderOnPath } from '../find.ts';
import { unpackedPackages } from '../packages.ts';
import { firstOf, type Candidate } from '../source.ts';

/** The versions of Java in recent Debian releases, the older first. */
const PACKAGES = ['openjdk-17-jre-headless', 'openjdk-21-jre-headless'] as const;

const candidates: readonly Candidate<string>[] = [
  { what: 'JAVA_HOME', find: home },
  { what: 'java on the PATH', find: () => folderOnPath('java') },
  ...PACKAGES.map((name) => ({ what: `the system's package ${name}`, find: () => unpacked(name) })),
];

/** The folder of this machine's `java`. Throws `StoreUnavailable` if there is none. */
export function javaFolder(): Promise<string> {
  return firstOf('java', candidates);
}

async function home(): Promise<string | undefined> {
  const given = process.env['JAVA_HOME'];
  if (given === undefined || given === '') return undefined;
  const folder = join(given, 'bin');
  await access(join(folder, 'java'));
  return folder;
}

async function unpacked(name: string): Promise<string | undefined> {
  const machines = join(await unpackedPackages({ names: [name] }), 'usr', 'lib', 'jvm');
  // Apart from the folder of the Java machine there may be a hidden file, or a link with another
  // name for the folder.
  const machine = (await readdir(machines, { withFileTypes: true })).find((entry) => entry.isDirectory());
  return machine === undefined ? undefined : join(machines, machine.name, 'bin');
}
