type Listeners = { [E in keyof WindowEventMap]?: (event: WindowEventMap[E]) => void };

/** Listen to events of the window, until the returned function is called. */
export function listen(listeners: Listeners, options?: AddEventListenerOptions): () => void {
  const ended = new AbortController();
  for (const [event, listener] of Object.entries(listeners)) {
    addEventListener(event, listener as EventListener, { ...options, signal: ended.signal });
  }
  return () => ended.abort();
}
