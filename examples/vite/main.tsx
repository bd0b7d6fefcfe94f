import { createRoot } from "react-dom/client";
import { SessionRenderer } from "reread-react";
import session from "./session.json";

createRoot(document.getElementById("root")!).render(<SessionRenderer session={session} />);
