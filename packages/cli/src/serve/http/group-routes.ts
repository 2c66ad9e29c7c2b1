/** The routes of groups. All routes of a membership but its creation need its secret. */

import { ApiError } from '../api-error.ts';
import type { Membership } from '../memberships.ts';
import { DEFAULT_RENEW_WITHIN_MS, membershipSettings, readJson } from './requests.ts';
import type { ApiRequest, OpenSidecar, Route } from './route.ts';

const GROUP = '/groups/{group}';

export function groupRoutes(sidecar: OpenSidecar): readonly Route[] {
  const own = ({ request, parameters: { group = '' } }: ApiRequest): Membership => {
    const secret = request.headers['membership-secret'];
    if (typeof secret !== 'string') throw new ApiError('WRONG_SECRET', 'the header "membership-secret" is missing');
    return sidecar().memberships.find(group, secret);
  };
  return [
    {
      method: 'GET',
      path: GROUP,
      handle: async ({ parameters: { group = '' } }) => {
        const members = await sidecar().memberships.members(group);
        return { status: 200, body: { group, members: members.map(({ memberId, value }) => ({ member: memberId, value })) } };
      },
    },
    {
      method: 'PUT',
      path: `${GROUP}/membership`,
      handle: async (apiRequest) => {
        const { request, parameters } = apiRequest;
        const body = await readJson(request);
        if (request.headers['membership-secret'] !== undefined) {
          const membership = own(apiRequest);
          membership.configure(membershipSettings(body));
          return { status: 200, body: membership.document() };
        }
        const settings = { renewWithinMs: DEFAULT_RENEW_WITHIN_MS, ...membershipSettings(body) };
        const membership = sidecar().memberships.join(parameters['group'] ?? '', settings);
        return { status: 201, body: { ...membership.document(), secret: membership.secret } };
      },
    },
    { method: 'GET', path: `${GROUP}/membership`, handle: (request) => ({ status: 200, body: own(request).document() }) },
    {
      method: 'DELETE',
      path: `${GROUP}/membership`,
      handle: async (request) => {
        await own(request).leave();
        return { status: 204 };
      },
    },
  ];
}
