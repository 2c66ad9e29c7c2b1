import { getContainerRuntimeClient, GenericContainer, type ContainerRuntimeClient, type StartedTestContainer } from 'testcontainers';

import { run } from '../run.ts';
import { LOG_TAIL_BYTES, type Instance, type InstancePlan } from './instance.ts';

/**
 * A container as testcontainers has started it, and as the engine knows it. Only the engine can
 * kill, pause and restart it.
 */
interface Container {
  readonly started: StartedTestContainer;
  readonly engine: ReturnType<ContainerRuntimeClient['container']['getById']>;
}

/**
 * A server in a container of this machine's engine. The container uses the machine's network, and
 * sees the plan's folder under the same path as the same user, so that addresses and files are the
 * same inside and outside. It ends with this process at the latest, if the engine may run
 * testcontainers' reaper.
 *
 * This file loads testcontainers, so import it only if an engine answers. `pnpm verify containers`
 * runs all tests of servers with it.
 */
export class ContainerInstance implements Instance {
  readonly #image: string;
  readonly #plan: InstancePlan;
  #container: Container | undefined;

  constructor(image: string, plan: InstancePlan) {
    this.#image = image;
    this.#plan = plan;
  }

  async start(): Promise<void> {
    if (this.#container === undefined) this.#container = await create(this.#image, this.#plan);
    else await this.#container.engine.start();
  }

  async running(): Promise<boolean> {
    return (await this.#state())?.Running ?? false;
  }

  async canExec(): Promise<boolean> {
    const state = await this.#state();
    return state !== undefined && state.Running && !state.Paused;
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.#container === undefined || !(await this.running())) return;
    const { engine } = this.#container;
    await engine.kill({ signal });
    // With Docker, a paused container receives SIGKILL at once, and any other signal when it
    // continues.
    if ((await this.#state())?.Paused === true) await engine.unpause();
    await engine.wait();
  }

  /**
   * Does nothing if the container does not run or is paused already, which engines report as an
   * error, unlike processes.
   */
  async pause(): Promise<void> {
    if (await this.canExec()) await this.#container?.engine.pause();
  }

  async resume(): Promise<void> {
    if ((await this.#state())?.Paused === true) await this.#container?.engine.unpause();
  }

  async exec(program: string, args: readonly string[]): Promise<string> {
    if (this.#container === undefined) throw new Error(`${this.#plan.name} is not running: it has no container`);
    const { exitCode, stdout, stderr } = await this.#container.started.exec([program, ...args]);
    if (exitCode !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  async logTail(): Promise<string> {
    if (this.#container === undefined) return '';
    const logs = await this.#container.engine.logs({ stdout: true, stderr: true, follow: false, tail: 50 });
    return withoutFrames(logs).slice(-LOG_TAIL_BYTES);
  }

  async remove(): Promise<void> {
    await this.#container?.engine.remove({ force: true });
    this.#container = undefined;
  }

  async #state(): Promise<{ readonly Running: boolean; readonly Paused: boolean } | undefined> {
    return (await this.#container?.engine.inspect())?.State;
  }
}

/** A user and a group without a name in most images. */
const NOBODY = 999;

async function create(image: string, { program, args, env = {}, folder, refusesRoot = false }: InstancePlan): Promise<Container> {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const user = refusesRoot && uid === 0 ? `${NOBODY}:${NOBODY}` : `${uid}:${gid}`;
  if (refusesRoot && uid === 0) await run('chown', ['-R', user, folder]);
  const started = await new GenericContainer(image)
    .withNetworkMode('host')
    .withEnvironment({ ...env })
    .withBindMounts([{ source: folder, target: folder }])
    .withUser(user)
    .withEntrypoint([program])
    .withCommand([...args])
    .start();
  const { container } = await getContainerRuntimeClient();
  return { started, engine: container.getById(started.getId()) };
}

const FRAME_HEADER_BYTES = 8;

/**
 * The engine sends its two streams in frames: a header that ends with the length as a 32-bit
 * integer, then the bytes.
 */
function withoutFrames(framed: Buffer): string {
  const parts: Buffer[] = [];
  for (let at = 0; at + FRAME_HEADER_BYTES <= framed.length;) {
    const start = at + FRAME_HEADER_BYTES;
    at = start + framed.readUInt32BE(start - 4);
    parts.push(framed.subarray(start, at));
  }
  return Buffer.concat(parts).toString();
}
