/** The URL of a module that lies beside the one at `url`, by its name without the ending: to be loaded by another process. */
export function moduleBeside(url: string, name: string): string {
  return url.slice(0, url.lastIndexOf('/') + 1) + name + url.slice(url.lastIndexOf('.'));
}
