/** One of the figures above a chart. */
export const Total = ({ value, name, title }: { value: string; name: string; title?: string }) => (
  <span title={title}>
    <strong className="num">{value}</strong> {name}
  </span>
);
