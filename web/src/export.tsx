import { fileSource } from "./data/fileSource";
import { setWorker } from "./kit/workerStart";
import TextWorker from "./kit/textWorker?worker&inline";
import { start } from "./start";

setWorker(() => new TextWorker());
start(fileSource(document));
