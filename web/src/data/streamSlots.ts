/** Which tabs may have a stream open. A browser has six connections to a server for all tabs together: if streams took all, no page would load. */

const VISIBLE = [1, 2, 3, 4].map((number) => `reread stream ${number}`);
/** One hidden tab still hears what waits, and tells of it. */
const HIDDEN = ["reread stream of a hidden tab"];

type Free = () => void;

/** Have a stream open, from `open` on until what that returned is called, whenever there is a slot for this tab; until the returned function is called. */
export function inSlot(open: () => () => void): () => void {
  let close: (() => void) | null = null;
  let free: Free | null = null;
  let wait = new AbortController();
  const stop = () => {
    wait.abort();
    close?.();
    free?.();
    close = free = null;
  };
  const change = async () => {
    wait.abort();
    const { signal } = (wait = new AbortController());
    const names = document.hidden ? HIDDEN : VISIBLE;
    let taken = await take(names);
    if (!taken && !signal.aborted) {
      stop();
      const { signal: longer } = (wait = new AbortController());
      taken = await lock(names[Math.floor(Math.random() * names.length)] ?? "", { signal: longer }).catch(() => null);
      if (longer.aborted || !taken) return taken?.();
    } else if (signal.aborted || !taken) return taken?.();
    free?.();
    free = taken;
    close ??= open();
  };
  const changed = () => void change();
  document.addEventListener("visibilitychange", changed);
  changed();
  return () => {
    document.removeEventListener("visibilitychange", changed);
    stop();
  };
}

/** One of some slots, if one is free. */
async function take(names: string[]): Promise<Free | null> {
  for (const name of names) {
    const free = await lock(name, { ifAvailable: true });
    if (free) return free;
  }
  return null;
}

/** Take a lock; without locks, as on a page that is not of this machine, each visible tab has its stream. */
function lock(name: string, options: LockOptions): Promise<Free | null> {
  const locks = navigator.locks as LockManager | undefined;
  if (!locks && !document.hidden) return Promise.resolve(() => {});
  if (!locks && options.ifAvailable) return Promise.resolve(null);
  return new Promise((resolve, fail) => {
    const hold = (held: Lock | null) => (held ? new Promise<void>((free) => resolve(free)) : resolve(null));
    if (locks) locks.request(name, options, hold).catch(fail);
    else options.signal?.addEventListener("abort", fail);
  });
}
