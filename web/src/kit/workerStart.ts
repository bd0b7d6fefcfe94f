/** How the worker for texts is started. It stands alone, because the first page needs no texts and nothing that parses them. */

let create: (() => Worker) | null = null;

/** Say how to start the worker, or that none can be; each build of the reader finds its file elsewhere. */
export function setWorker(start: (() => Worker) | null): void {
  create = start;
}

export const startWorker = (): Worker | null => create?.() ?? null;
