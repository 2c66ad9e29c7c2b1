import type { ImageSource } from '../../images/find.ts';
import type { ImageRecipe } from '../../images/recipe.ts';
import type { StoreVersion } from '../types.ts';
import { POSTGRES_15, POSTGRES_17, type PostgresRelease } from './packages.ts';

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
    instructions: [
      `ENV PATH=/usr/lib/postgresql/${major}/bin:/usr/local/bin:/usr/bin:/bin`,
      'CMD ["postgres"]',
      'WORKDIR /var/lib/postgresql',
      'EXPOSE 5432',
    ],
  };
}
