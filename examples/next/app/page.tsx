import { SessionRenderer } from "reread-react";
import session from "../session.json";

export default function Page() {
  return <SessionRenderer session={session} />;
}
