/** The title of the browser's tab: that of the page, after the number of sessions that wait for somebody. */

const shown = { page: "reread", waiting: 0 };

function change(part: Partial<typeof shown>): void {
  Object.assign(shown, part);
  document.title = shown.waiting ? `(${shown.waiting}) ${shown.page}` : shown.page;
}

export const setPageTitle = (page: string): void => change({ page });

export const setWaiting = (waiting: number): void => change({ waiting });
