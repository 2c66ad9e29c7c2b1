/**
 * Parses a store's URL: `scheme://user:password@host1:port,host2:port/namespace?name=value`. Not
 * with the platform's `URL`, which supports one host only.
 */

import { resolve } from 'node:path';

import { invalidSecret, isPath, PATH_RULE, showUrl } from '@incumbent/core/adapter';

import { certificatesOf, type PemFile, type TlsOptions } from '../connect/tls.ts';
import { type Given, omitUndefined } from './omit-undefined.ts';
import type { SharedOptions, UserCredentials } from './store-options.ts';

const SHAPE =
  /^(?<scheme>[a-z+]+):\/\/(?:(?<user>[^@/?#]*)@)?(?<hosts>[^@:/?#][^@/?#]*)(?:\/(?<namespace>[^@?#]*))?(?:\?(?<query>[^@#]*))?$/;

/** Added to the message if the credentials may be the reason why a URL cannot be read. */
const ENCODING = 'in a user and a password, write @ as %40, / as %2F, ? as %3F, # as %23, and % as %25';

/** The parameters of a URL with TLS. The first three are names of files. */
const TLS_PARAMETERS = ['ca', 'cert', 'key', 'servername'];

/** What the URLs of one store may contain. */
export interface StoreUrlShape {
  readonly schemes: readonly string[];
  /** The schemes that use TLS. */
  readonly secureSchemes: readonly string[];
  /** The parameter that turns TLS on, for stores whose users expect one in place of a scheme. */
  readonly secureBy?: { readonly parameter: string; readonly plain: readonly string[]; readonly secure: readonly string[] };
  /** The names of the parameters after `?`, without those of TLS. */
  readonly parameters: readonly string[];
  /** An example of a URL, for error messages. */
  readonly example: string;
}

/** A parsed URL of a store. Its methods return the parts, decoded and checked. */
export class StoreUrl {
  readonly isSecure: boolean;
  readonly hosts: readonly string[];
  /** Empty if the URL has none. */
  readonly namespace: string;
  /** The URL without secrets, for messages. */
  readonly #shown: string;
  readonly #user: string | undefined;
  readonly #query: URLSearchParams;

  /**
   * @throws `TypeError` or `RangeError` with the code `INVALID_OPTION`. The error names the part of
   * the URL, without secrets.
   */
  constructor(url: string, { schemes, secureSchemes, secureBy, parameters, example }: StoreUrlShape) {
    const parts = SHAPE.exec(url)?.groups;
    const scheme = parts?.['scheme'] ?? '';
    if (parts === undefined || ![...schemes, ...secureSchemes].includes(scheme))
      throw invalidSecret('url', url, url.includes('@') ? `${example}; ${ENCODING}` : example, showUrl(url));
    this.#shown = showUrl(url);
    this.hosts = (parts['hosts'] ?? '').split(',');
    this.namespace = namespaceIn(parts['namespace'] ?? '');
    this.#user = parts['user'];
    this.#query = new URLSearchParams(parts['query'] ?? '');
    const mode = secureBy && this.oneOf(secureBy.parameter, [...secureBy.plain, ...secureBy.secure]);
    this.isSecure = secureSchemes.includes(scheme) || (mode !== undefined && secureBy?.secure.includes(mode) === true);
    const known = secureBy === undefined ? parameters : [...parameters, secureBy.parameter];
    this.#checkParameters(this.isSecure ? [...known, ...TLS_PARAMETERS] : known);
  }

  /** The part before `@`, split at its first colon and decoded. Without a colon, no password. */
  get user(): { readonly name: string; readonly password: string | undefined } | undefined {
    if (this.#user === undefined) return undefined;
    const [, name = '', password] = /^([^:]*)(?::(.*))?$/.exec(this.#user) ?? [];
    return { name: decoded('user', name), password: password === undefined ? undefined : decoded('password', password) };
  }

  /**
   * The user and the password before `@`.
   *
   * @throws `INVALID_OPTION` if one of the two is missing.
   */
  get credentials(): UserCredentials | undefined {
    if (this.user === undefined) return undefined;
    const { name, password } = this.user;
    if (name === '' || password === undefined) throw this.invalidUser('given a user as user:password');
    return { username: name, password };
  }

  /** The error for the part before `@`. `rule` completes "the URL must be …". */
  invalidUser(rule: string): Error {
    return invalidSecret('url', this.#shown, rule, this.#shown);
  }

  /** The options that every adapter has: `namespace`, `connectTimeoutMs` and `tls`, if given. */
  get sharedOptions(): Given<Pick<SharedOptions<never>, 'namespace' | 'connectTimeoutMs' | 'tls'>> {
    return omitUndefined({
      namespace: this.namespace === '' ? undefined : this.namespace,
      connectTimeoutMs: this.number('connectTimeoutMs'),
      tls: this.tls(),
    });
  }

  text(parameter: string): string | undefined {
    return this.#query.get(parameter) ?? undefined;
  }

  /**
   * The value of a parameter. Undefined if the URL does not have it.
   *
   * @throws `INVALID_OPTION` if the value is none of these words.
   */
  oneOf<const T extends string>(parameter: string, words: readonly T[]): T | undefined {
    const text = this.text(parameter);
    const word = words.find((candidate) => candidate === text);
    if (text === undefined || word !== undefined) return word;
    throw invalidSecret(parameter, text, `one of ${words.join(', ')}`);
  }

  /**
   * The value of a parameter as a number. Undefined if the URL does not have it.
   *
   * @throws `INVALID_OPTION` if the value is not a number.
   */
  number(parameter: string): number | undefined {
    const text = this.text(parameter);
    if (text === undefined) return undefined;
    if (!/^\d+$/.test(text)) throw invalidSecret(parameter, text, 'a number');
    return Number(text);
  }

  /**
   * The value of a parameter as a boolean. Undefined if the URL does not have it.
   *
   * @throws `INVALID_OPTION` if the value is neither `true` nor `false`.
   */
  boolean(parameter: string): boolean | undefined {
    const word = this.oneOf(parameter, ['true', 'false']);
    return word === undefined ? undefined : word === 'true';
  }

  /**
   * Undefined without TLS. The certificates are files, which the store reads for each connection.
   *
   * @throws An error with the system's code, such as `ENOENT`, for a file that cannot be read now.
   */
  tls(): TlsOptions | undefined {
    if (!this.isSecure) return undefined;
    const tls: TlsOptions = omitUndefined({
      ca: this.#file('ca'),
      cert: this.#file('cert'),
      key: this.#file('key'),
      servername: this.text('servername'),
    });
    certificatesOf(tls);
    return tls;
  }

  #file(parameter: string): PemFile | undefined {
    const path = this.text(parameter);
    return path === undefined ? undefined : { file: resolve(path) };
  }

  #checkParameters(known: readonly string[]): void {
    const names = [...this.#query.keys()];
    for (const [index, name] of names.entries()) {
      // The name may be a part of a password that contains a ? that is not encoded.
      if (!known.includes(name)) throw invalidSecret(`url parameter ${index + 1}`, name, `one of ${known.join(', ')}`);
      if (names.indexOf(name) < index) throw invalidSecret(name, this.#query.getAll(name), 'given once');
    }
  }
}

/** The text may be the end of a password that contains a / that is not encoded. */
function namespaceIn(text: string): string {
  const namespace = decoded('namespace', text);
  if (namespace === '' || isPath(namespace)) return namespace;
  throw invalidSecret('namespace', namespace, PATH_RULE);
}

function decoded(what: string, text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidSecret(what, text, `percent-encoded: ${ENCODING}`);
  }
}
