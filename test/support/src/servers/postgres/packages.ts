/** PostgreSQL's packages in Debian's releases, each with every library that its programs load. */

/** The libraries that have the same names in both releases. */
const COMMON = [
  ...['libaudit1', 'libc6', 'libcap-ng0', 'libcap2', 'libcom-err2', 'libffi8', 'libgcc-s1', 'libgmp10'],
  ...['libgssapi-krb5-2', 'libidn2-0', 'libk5crypto3', 'libkeyutils1', 'libkrb5-3', 'libkrb5support0', 'liblz4-1', 'liblzma5'],
  ...['libp11-kit0', 'libpam0g', 'libpq5', 'libsasl2-2', 'libstdc++6', 'libsystemd0', 'libtasn1-6', 'libtinfo6', 'libxml2'],
  ...['libxxhash0', 'libzstd1', 'zlib1g'],
];

export interface PostgresRelease {
  /** Debian's release. */
  readonly name: string;
  /** PostgreSQL's major version in it. */
  readonly major: number;
  readonly packages: readonly string[];
}

export const POSTGRES_15: PostgresRelease = {
  name: 'bookworm',
  major: 15,
  packages: [
    ...['postgresql-15', 'postgresql-client-15', ...COMMON],
    ...['libgcrypt20', 'libgnutls30', 'libgpg-error0', 'libhogweed6', 'libicu72', 'libldap-2.5-0', 'libnettle8', 'libreadline8'],
    ...['libssl3', 'libunistring2'],
  ],
};

/** Needs a newer C library than the previous release has. */
export const POSTGRES_17: PostgresRelease = {
  name: 'trixie',
  major: 17,
  packages: [...['postgresql-17', 'postgresql-client-17', ...COMMON], ...['libicu76', 'libldap2', 'libreadline8t64', 'libssl3t64']],
};
