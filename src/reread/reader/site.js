// Filters the list of a site by words, and writes its dates as the reader does.
"use strict";

const field = document.querySelector("input");
const status = document.querySelector("[role=status]");
const groups = [...document.querySelectorAll("tbody")].map((body) => {
  const [head, ...rows] = body.rows;
  return { body, rows: rows.map((row) => ({ row, text: `${head.cells[0].title} ${row.textContent}`.toLowerCase() })) };
});

function filter() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const { body, rows } of groups) {
    let any = false;
    for (const { row, text } of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      any ||= !row.hidden;
      shown += row.hidden ? 0 : 1;
    }
    body.hidden = !any;
  }
  status.textContent = !words.length ? "" : shown ? `${shown} shown` : `No results for "${field.value.trim()}"`;
}

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const YEAR = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const TIME = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
const FULL = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long" });

for (const element of document.querySelectorAll("time[datetime]")) {
  const date = new Date(element.dateTime);
  if (Number.isNaN(date.getTime())) continue;
  const isThisYear = date.getFullYear() === new Date().getFullYear();
  element.textContent = isThisYear ? `${DAY.format(date)} ${TIME.format(date)}` : YEAR.format(date);
  element.title = FULL.format(date);
}
field.hidden = false;
field.addEventListener("input", filter);
addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== field) {
    event.preventDefault();
    field.focus();
  } else if (event.key === "Escape" && field.value) {
    field.value = "";
    filter();
  }
});
filter(); // what the browser kept in the field
