/** What an image of Debian's packages is made of. */
export interface ImageRecipe {
  /** Its name: `incumbent/etcd:bookworm`. */
  readonly name: string;
  readonly release: string;
  /**
   * The server, its tools, and every library that they load but the C library: nothing else comes
   * along.
   */
  readonly packages: readonly string[];
  /** Text files besides, by their paths: scripts, all of them. */
  readonly files?: Readonly<Record<string, string>>;
  /** Symbolic links: where, and to what. */
  readonly links?: Readonly<Record<string, string>>;
  /**
   * As in a Dockerfile: `CMD`, `ENTRYPOINT`, `ENV`, `EXPOSE`, `WORKDIR`. Working folders are made.
   */
  readonly instructions: readonly string[];
}

/** A C library, and a shell with the small tools that checks of health need. */
export const BASE: readonly string[] = ['busybox-static', 'libc6'];
