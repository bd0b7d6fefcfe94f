import { NotFound, type Source } from "./source";

/** A source that has nothing, for those that have only some of it. */
export function closedSource(reason: string): Source {
  const unavailable = (): Promise<never> => Promise.reject(new NotFound(reason));
  return {
    can: { library: false, usage: false, raw: false, live: false, files: false, annotate: false, link: false },
    connection: null,
    running: null,
    home: "",
    onlySession: null,
    library: unavailable,
    countFirst: unavailable,
    searchAll: unavailable,
    overview: unavailable,
    page: unavailable,
    pageNow: () => {
      throw new NotFound(reason);
    },
    outline: unavailable,
    call: unavailable,
    lines: unavailable,
    place: unavailable,
    search: unavailable,
    filter: unavailable,
    markdown: unavailable,
    usage: unavailable,
    waterfall: unavailable,
    problems: unavailable,
    files: unavailable,
    fileVersion: unavailable,
    fileDiff: unavailable,
    fileBlame: unavailable,
    report: unavailable,
    review: unavailable,
    settings: unavailable,
    changeSettings: unavailable,
    setup: unavailable,
    annotation: unavailable,
    annotate: unavailable,
    pictureUrl: unavailable,
    exportUrl: () => null,
    watchSession: () => () => undefined,
    watchLibrary: () => () => undefined,
  };
}
