import { httpSource } from "./httpSource";
import { start } from "./start";

start(httpSource);
