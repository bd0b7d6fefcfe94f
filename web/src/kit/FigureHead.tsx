/** The head of a table of figures: the name of the groups, then those of the figures. */
export const FigureHead = ({ group, figures, lefts }: { group: string; figures: string[]; lefts?: ReadonlySet<string> }) => (
  <thead>
    <tr>
      <th scope="col">{group}</th>
      {figures.map((name) => (
        <th key={name} scope="col" className={lefts?.has(name) ? undefined : "num"}>
          {name}
        </th>
      ))}
    </tr>
  </thead>
);
