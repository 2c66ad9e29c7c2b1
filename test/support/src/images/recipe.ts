/** The contents of an image of Debian's packages. */
export interface ImageRecipe {
  /** Its name: `incumbent/etcd:bookworm`. */
  readonly name: string;
  readonly release: string;
  /**
   * The server, its tools, and every library that they load except the C library. Dependencies are
   * not added.
   */
  readonly packages: readonly string[];
  /** Additional text files by their paths. All are scripts. */
  readonly files?: Readonly<Record<string, string>>;
  /** Symbolic links: the path, and its target. */
  readonly links?: Readonly<Record<string, string>>;
  /** Folders in which every user may create files. */
  readonly writable?: readonly string[];
  /**
   * As in a Dockerfile: `CMD`, `ENTRYPOINT`, `ENV`, `EXPOSE`, `WORKDIR`. Creates working folders.
   */
  readonly instructions: readonly string[];
}

/** A C library, and a shell with the tools that health checks need. */
export const BASE: readonly string[] = ['busybox-static', 'libc6'];
