import { useSelector, type Store } from "../kit/store";

/** Says once that the server is gone, until it answers again. */
export function ConnectionNotice({ connection }: { connection: Store & { lost: boolean } }) {
  const lost = useSelector(connection, ({ lost }) => lost);
  return (
    <div className="connection" role="status">
      {lost && <p className="note warning">No connection to the server; is reread still running? Trying again…</p>}
    </div>
  );
}
