/** What an operator does to Consul, with a client from npm that shares no code with the store. */

import Consul from 'consul';

export class Operator {
  readonly #consul: Consul;

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.#consul = new Consul({ host: hostname, port: Number(port) });
  }

  async put(key: string, value: Uint8Array): Promise<void> {
    if (!(await this.#consul.kv.set(key, Buffer.from(value)))) throw new Error(`${key} was not written`);
  }

  async delete(key: string): Promise<void> {
    await this.#consul.kv.del(key);
  }

  async destroySession(id: string): Promise<void> {
    await this.#consul.session.destroy(id);
  }

  /** How many checks of this name the agent has. */
  async checks(name: string): Promise<number> {
    const checks = Object.values(await this.#consul.agent.checks());
    return checks.filter((check) => check.Name === name).length;
  }

  async removeChecks(name: string): Promise<void> {
    for (const [id, check] of Object.entries(await this.#consul.agent.checks())) {
      if (check.Name === name) await this.#consul.agent.check.deregister(id);
    }
  }
}
