import { httpSource } from "./data/httpSource";
import { setWorker } from "./kit/workerStart";
import { start } from "./start";

setWorker(() => new Worker(new URL("./kit/textWorker.ts", import.meta.url), { type: "module" }));
start(httpSource);
