import type { ImageSource } from '../../images/find.ts';
import type { ImageRecipe } from '../../images/recipe.ts';
import type { StoreVersion } from '../types.ts';
import { POSTGRES_15, POSTGRES_17, type PostgresRelease } from './packages.ts';

/**
 * Supports those environment variables of the official image that the compose files use, and then
 * executes the command. `initdb` looks up the name of its user, whom the image does not know.
 */
const ENTRYPOINT = `#!/bin/sh
set -eu
if [ "$1" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
  for LD_PRELOAD in /usr/lib/*/libnss_wrapper.so; do :; done
  echo "postgres:x:$(id -u):$(id -g)::/:/bin/false" >/tmp/passwd
  export LD_PRELOAD NSS_WRAPPER_PASSWD=/tmp/passwd NSS_WRAPPER_GROUP=/dev/null
  initdb -D "$PGDATA" -U postgres -A "$POSTGRES_HOST_AUTH_METHOD" -E UTF8 --no-locale
  unset LD_PRELOAD
  echo "host all all all $POSTGRES_HOST_AUTH_METHOD" >>"$PGDATA/pg_hba.conf"
fi
if [ "$1" = postgres ]; then set -- "$@" -c listen_addresses='*'; fi
exec "$@"
`;

/** Contains PostgreSQL's programs on its PATH. */
export const postgresImages: Readonly<Record<StoreVersion, ImageSource>> = {
  default: {
    setting: 'INCUMBENT_POSTGRES_IMAGE',
    recipe: recipe(POSTGRES_15),
    published: 'postgres:15.19@sha256:9b1d34adbce1dd07ee6e94b4a2cf698884b89bd44a6c9c12f5da8f3acbfe4957',
  },
  newer: {
    recipe: recipe(POSTGRES_17),
    published: 'postgres:17.5@sha256:aadf2c0696f5ef357aa7a68da995137f0cf17bad0bf6e1f17de06ae5c769b302',
  },
};

function recipe({ name, major, packages }: PostgresRelease): ImageRecipe {
  return {
    name: `incumbent/postgres:${name}`,
    release: name,
    // The published image has this library, too: see the launch script.
    packages: [...packages, 'libnss-wrapper'],
    files: { 'usr/local/bin/docker-entrypoint.sh': ENTRYPOINT },
    writable: ['var/lib/postgresql/data', 'var/run/postgresql'],
    instructions: [
      `ENV PATH=/usr/lib/postgresql/${major}/bin:/usr/local/bin:/usr/bin:/bin`,
      'ENTRYPOINT ["docker-entrypoint.sh"]',
      'CMD ["postgres"]',
      'WORKDIR /var/lib/postgresql',
      'EXPOSE 5432',
    ],
  };
}
