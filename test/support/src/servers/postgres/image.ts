import type { ImageSource } from '../../images/find.ts';
import type { ImageRecipe } from '../../images/recipe.ts';
import type { StoreVersion } from '../types.ts';
import { POSTGRES_15, POSTGRES_17, type PostgresRelease } from './packages.ts';

/** Contains PostgreSQL's programs on its PATH. */
export const postgresImages: Readonly<Record<StoreVersion, ImageSource>> = {
  default: { setting: 'INCUMBENT_POSTGRES_IMAGE', recipe: recipe(POSTGRES_15), published: 'postgres:15.15' },
  newer: { recipe: recipe(POSTGRES_17), published: 'postgres:17.7' },
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
