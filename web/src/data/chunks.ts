/** The chunks of an exported page, unpacked on demand. */

import { inflateSync } from "fflate";
import { Lru } from "../kit/lru";
import { NotFound } from "./source";

const CACHE_SIZE = 24;

/** Image types by their first bytes. */
const SIGNATURES: [start: string, type: string][] = [
  ["\x89PNG", "image/png"],
  ["\xff\xd8\xff", "image/jpeg"],
  ["GIF8", "image/gif"],
  ["RIFF", "image/webp"],
];

export class Chunks {
  private readonly cache = new Lru<number, Promise<unknown>>(CACHE_SIZE);
  private readonly pictureUrls = new Map<string, string>();

  constructor(private readonly page: Document) {}

  json<T>(number: number): Promise<T> {
    const cached = this.cache.get(number) as Promise<T> | undefined;
    if (cached) return cached;
    const unpacked = this.unpack(number) as Promise<T>;
    this.cache.set(number, unpacked);
    return unpacked;
  }

  /** A chunk at once; the browser's own decompression takes a promise. */
  jsonNow<T>(number: number): T {
    return JSON.parse(new TextDecoder().decode(inflateSync(this.bytes(number)))) as T;
  }

  /** A URL for the picture in `chunk:N`. */
  async pictureUrl(chunk: string): Promise<string> {
    const known = this.pictureUrls.get(chunk);
    if (known) return known;
    const bytes = this.bytes(Number(chunk.replace("chunk:", "")));
    const start = String.fromCharCode(...bytes.subarray(0, 4));
    const type = SIGNATURES.find(([signature]) => start.startsWith(signature))?.[1];
    if (!type) throw new NotFound("This image format is not supported.");
    const url = URL.createObjectURL(new Blob([bytes], { type }));
    this.pictureUrls.set(chunk, url);
    return url;
  }

  private async unpack(number: number): Promise<unknown> {
    const packed = new Blob([this.bytes(number)]).stream();
    return new Response(packed.pipeThrough(new DecompressionStream("deflate-raw"))).json();
  }

  private bytes(number: number): Uint8Array<ArrayBuffer> {
    const element = this.page.querySelector(`script[data-chunk="${number}"]`);
    if (!element) throw new NotFound("Part of this page is missing; the file may be truncated.");
    const text = atob((element.textContent ?? "").trim());
    const bytes = new Uint8Array(text.length); // a loop: `Uint8Array.from` takes ten times as long
    for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
    return bytes;
  }
}
