/**
 * The campaign of `--election`: the sidecar's own candidacy, on behalf of an application that only
 * asks `GET /` who leads. With `--health` there is one while the application is healthy.
 */

import type { Candidacy } from './candidacy.ts';
import type { Answer } from './http/route.ts';
import type { Sidecar } from './sidecar.ts';

export class OwnCandidacy {
  readonly #sidecar: Sidecar;
  readonly #election: string;
  readonly #value: unknown;
  readonly #failed: (error: unknown) => void;
  #candidacy: Candidacy | undefined;

  /**
   * Does no I/O. `failed` is called if the campaign fails, and a retry would fail again.
   *
   * @throws `INVALID_NAME` or `WEAK_STORE`, before there is a candidacy.
   */
  constructor(sidecar: Sidecar, election: string, value: unknown, failed: (error: unknown) => void) {
    sidecar.checkCanCampaign(election);
    this.#sidecar = sidecar;
    this.#election = election;
    this.#value = value;
    this.#failed = failed;
  }

  /**
   * Campaigns, or gives up the leadership and leaves the queue.
   *
   * @throws As `Sidecar.create` does.
   */
  setHealthy(healthy: boolean): void {
    if (!healthy) this.#candidacy?.end('unhealthy');
    else if (this.#candidacy?.isOver !== false) this.#candidacy = this.#create();
  }

  /**
   * The answer to `GET /`. Makes one linearizable read if this candidacy does not lead. Names
   * nobody while its leadership ends, because the application must no longer act as the leader.
   */
  async answer(): Promise<Answer> {
    const document = this.#candidacy?.document();
    const { leads = false, validForMs = 0, term } = document ?? {};
    if (leads) return { status: 200, body: { name: this.#sidecar.member.memberId, leads, term, validForMs } };
    const leader = await this.#sidecar.leader(this.#election);
    const isOther = leader !== undefined && leader.memberId !== this.#sidecar.member.memberId;
    const other = isOther ? { name: leader.memberId, leads: false, term: leader.term } : { name: '', leads: false };
    return { status: 200, body: { ...other, validForMs: 0 } };
  }

  #create(): Candidacy {
    const value = this.#value === undefined ? {} : { value: this.#value };
    const settings = { renewWithinMs: null, acknowledges: false, isOwn: true, failed: this.#failed, ...value };
    return this.#sidecar.create(this.#election, this.#sidecar.member.memberId, settings);
  }
}
