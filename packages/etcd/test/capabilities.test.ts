import { describe, expect, it } from 'vitest';

import { checkVersion, endsEarly } from '../src/capabilities.ts';

describe('a version', () => {
  it.each(['3.4.0', '3.4.30', '3.5.0', '3.5.12', '3.4.23+git'])('%s may end renewed leases when a leader stood still', (version) => {
    expect(endsEarly(version)).toMatch(/after a pause of any kind,.*15247; upgrade the server: it is rarer from 3\.(4\.31|5\.13)/);
  });

  it.each(['3.4.31', '3.4.45', '3.5.13', '3.5.16', '3.6.0', '3.6.0-rc.1', '3.7.1', '4.0.0'])(
    '%s may when one was stopped as a whole',
    (version) => {
      expect(endsEarly(version)).toMatch(/after a pause \(stopped process, suspended machine\),.*15247; seen on 3\.5\.16/);
    },
  );

  it.each(['3.3.27', '2.3.8', '', 'Not Found'])('"%s" is refused', (version) => {
    expect(() => checkVersion(version)).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED', outcome: 'refused', message: expect.stringContaining(version) }),
    );
  });

  it.each(['3.4.0', '3.6.14', '4.0.0'])('%s is served', (version) => {
    expect(() => checkVersion(version)).not.toThrow();
  });
});
