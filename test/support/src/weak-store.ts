/** The acceptance of a store that is not linearizable, for programs that run on any store. */
export function weakStore(store: { readonly name: string; readonly capabilities: { readonly linearizable: boolean } }): {
  readonly acceptWeakStore?: string;
} {
  return store.capabilities.linearizable ? {} : { acceptWeakStore: store.name };
}
