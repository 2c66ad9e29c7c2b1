import { expect, it } from 'vitest';
import { BASE } from '../src/images/recipe.ts';
import { composeImages } from '../src/servers/images.ts';
import { folderNameOf } from '../src/servers/packages.ts';

it('the folder of the packages of an image has a name that file systems accept', () => {
  for (const { recipe } of Object.values(composeImages)) {
    expect(folderNameOf([...recipe.packages, ...BASE]).length).toBeLessThan(256);
  }
});

it('the folders of different packages have different names', () => {
  const names = Array.from({ length: 50 }, (_, index) => `package-${index}`);
  expect(folderNameOf(['a', 'b'])).toBe('a+b');
  expect(folderNameOf(names)).not.toBe(folderNameOf(names.toReversed()));
});
