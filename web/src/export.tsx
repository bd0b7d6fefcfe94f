import { fileSource } from "./fileSource";
import { start } from "./start";

start(fileSource(document));
