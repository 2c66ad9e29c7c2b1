import type { PlantedBug } from '@incumbent/test-support/planted-bug';

export type Mutant = PlantedBug;

export function mutant(name: string, about: string, file: string, from: string, to: string): Mutant {
  return { name, about, file, from, to };
}
