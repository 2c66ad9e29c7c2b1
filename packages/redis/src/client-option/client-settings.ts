/** Reads the settings of a client object, whose shape nobody has checked. */

import { invalidSecret } from '@incumbent/core/adapter';
import { endpointName, omitUndefined, type Pem, type TlsOptions } from '@incumbent/network';

import type { Credentials } from '../client/greeting.ts';

/** A part of a client's settings, with its path for messages: `client.options.tls`. */
export class ClientSettings {
  readonly path: string;
  readonly #values: object;

  constructor(values: object, path: string) {
    this.#values = values;
    this.path = path;
  }

  /** Null counts as absent, as in ioredis. */
  at(name: string): unknown {
    const value: unknown = Reflect.get(this.#values, name);
    return value ?? undefined;
  }

  names(): readonly string[] {
    return Object.keys(this.#values).filter((name) => this.at(name) !== undefined);
  }

  /**
   * Throws `INVALID_OPTION` if there is such a setting. `why` ends the sentence "left out,
   * because".
   */
  refuse(name: string, why: string): void {
    const value = this.at(name);
    if (value !== undefined) throw this.invalid(name, value, `left out, because ${why}`);
  }

  text(name: string): string | undefined {
    const value = this.at(name);
    if (value !== undefined && typeof value !== 'string') throw this.invalid(name, value, 'a string');
    return value;
  }

  integer(name: string): number | undefined {
    const value = this.at(name);
    if (value === undefined) return undefined;
    // From an environment variable, the number is text.
    const number = typeof value === 'string' && value !== '' ? Number(value) : value;
    if (typeof number !== 'number' || !Number.isInteger(number)) throw this.invalid(name, value, 'an integer');
    return number;
  }

  section(name: string): ClientSettings | undefined {
    const value = this.at(name);
    if (value === undefined) return undefined;
    if (typeof value !== 'object' || value === null) throw this.invalid(name, value, 'an object');
    return new ClientSettings(value, `${this.path}.${name}`);
  }

  /** The items of a list, each as what it is and its path. At least one. */
  items(name: string): readonly (readonly [item: unknown, path: string])[] {
    const value = this.at(name);
    if (!Array.isArray(value) || value.length === 0) throw this.invalid(name, value, 'a list of at least one server');
    return Array.from(value, (item: unknown, i) => [item, `${this.path}.${name}[${i}]`] as const);
  }

  /** The items of a list of objects. At least one. */
  sections(name: string): readonly ClientSettings[] {
    return this.items(name).map(([item, path]) => {
      if (typeof item !== 'object' || item === null) throw invalidSecret(path, item, 'an object');
      return new ClientSettings(item, path);
    });
  }

  /** The error does not show the value, which may be a secret. */
  invalid(name: string, value: unknown, allowed: string): Error {
    return invalidSecret(`${this.path}.${name}`, value, allowed);
  }
}

/** The user and the password of a section. Undefined if it has neither. */
export function credentialsIn(
  settings: ClientSettings | undefined,
  names: { readonly username: string; readonly password: string } = { username: 'username', password: 'password' },
): Credentials | undefined {
  // Both clients treat empty text as absent.
  const [username = '', password = ''] = [settings?.text(names.username), settings?.text(names.password)];
  if (username === '' && password === '') return undefined;
  return { password, ...omitUndefined({ username: username === '' ? undefined : username }) };
}

/** The address as `host:port`, an IPv6 address in brackets. */
export function endpointIn(settings: ClientSettings, defaults: { readonly host: string; readonly port: number }): string {
  const [host, port] = [settings.text('host'), settings.integer('port')];
  return endpointName({ host: host === undefined || host === '' ? defaults.host : host, port: port ?? defaults.port });
}

const TAKEN = ['ca', 'cert', 'key', 'servername', 'rejectUnauthorized'];

/** Settings beside those of TLS that do not say whom to trust, and as whom to log in. */
const HARMLESS = [
  'host',
  'port',
  'tls',
  'family',
  'noDelay',
  'keepAlive',
  'keepAliveInitialDelay',
  'timeout',
  'connectTimeout',
  'socketTimeout',
  'reconnectStrategy',
];

/**
 * The options for TLS. Throws for a setting that the store cannot have, such as a check of one's
 * own.
 */
export function tlsIn(settings: ClientSettings): TlsOptions {
  for (const name of settings.names()) {
    if (![...TAKEN, ...HARMLESS].includes(name))
      settings.refuse(name, `the store takes over ${TAKEN.join(', ')} only: give openRedis the option tls, or connect, besides the client`);
  }
  const ca = settings.at('ca');
  const rejectUnauthorized = settings.at('rejectUnauthorized');
  if (rejectUnauthorized !== undefined && typeof rejectUnauthorized !== 'boolean')
    throw settings.invalid('rejectUnauthorized', rejectUnauthorized, 'true or false');
  return omitUndefined({
    ca: Array.isArray(ca) ? ca.map((pem: unknown) => checkPem(settings, 'ca', pem)) : onePem(settings, 'ca'),
    cert: onePem(settings, 'cert'),
    key: onePem(settings, 'key'),
    servername: settings.text('servername'),
    rejectUnauthorized,
  });
}

/** Node accepts a list, also of one. */
function onePem(settings: ClientSettings, name: string): Pem | undefined {
  const value = settings.at(name);
  if (value === undefined) return undefined;
  return checkPem(settings, name, Array.isArray(value) && value.length === 1 ? value[0] : value);
}

function checkPem(settings: ClientSettings, name: string, pem: unknown): Pem {
  if (typeof pem === 'string' || pem instanceof Uint8Array) return pem;
  throw settings.invalid(name, pem, 'PEM as text or bytes');
}
