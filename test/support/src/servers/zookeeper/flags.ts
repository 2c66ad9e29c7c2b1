import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

type Level = 'warn' | 'off';

/** Enough for a test's data, quick to start, and small on a machine that runs several. */
const SMALL = ['-Xmx128m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xshare:auto'];

/**
 * Flags of Java for a small process that logs little: by slf4j-simple (Debian) or by logback
 * (Apache).
 */
export function javaFlags(folder: string | undefined, level: Level): readonly string[] {
  const logback = folder === undefined ? [] : [`-Dlogback.configurationFile=${logbackFile(folder, level)}`];
  return [...SMALL, `-Dorg.slf4j.simpleLogger.defaultLogLevel=${level}`, ...logback];
}

/** Writes the files that these flags name. */
export async function writeLogging(folder: string): Promise<void> {
  const levels: readonly Level[] = ['warn', 'off'];
  await Promise.all(levels.map((level) => writeFile(logbackFile(folder, level), configuration(level))));
}

function logbackFile(folder: string, level: Level): string {
  return join(folder, `logback-${level}.xml`);
}

function configuration(level: Level): string {
  return `<configuration>
  <appender name="stderr" class="ch.qos.logback.core.ConsoleAppender">
    <target>System.err</target>
    <encoder><pattern>%d [%thread] %level %logger - %msg%n</pattern></encoder>
  </appender>
  <root level="${level}"><appender-ref ref="stderr"/></root>
</configuration>
`;
}
