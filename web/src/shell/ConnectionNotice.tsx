import { useSelector } from "../kit/store";
import type { Connection, Fault } from "../data/source";

const TEXTS: Record<Fault, string> = {
  gone: "No connection to the server; is reread still running? Trying again…",
  token: "The server was started again with another token; open the address that it printed.",
};

/** Says once why the server does not answer, until it does again. */
export function ConnectionNotice({ connection }: { connection: Connection }) {
  const fault = useSelector(connection, ({ fault }) => fault);
  return (
    <div className="connection" role="status">
      {fault && <p className="note warning">{TEXTS[fault]}</p>}
    </div>
  );
}
