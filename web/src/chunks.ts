/** The packed data of an exported page, unpacked piece by piece. */

import { Lru } from "./kit/lru";
import { Missing } from "./source";

const KEPT = 24;

/** What a picture's first bytes say it is. */
const MAGIC: [start: string, kind: string][] = [
  ["\x89PNG", "image/png"],
  ["\xff\xd8\xff", "image/jpeg"],
  ["GIF8", "image/gif"],
  ["RIFF", "image/webp"],
];

export class Chunks {
  private readonly kept = new Lru<number, Promise<unknown>>(KEPT);
  private readonly addresses = new Map<string, string>();

  constructor(private readonly page: Document) {}

  json<T>(number: number): Promise<T> {
    const kept = this.kept.get(number) as Promise<T> | undefined;
    if (kept) return kept;
    const unpacked = this.unpack(number) as Promise<T>;
    this.kept.set(number, unpacked);
    return unpacked;
  }

  /** An address for the picture that `chunk:N` names. */
  async picture(url: string): Promise<string> {
    const known = this.addresses.get(url);
    if (known) return known;
    const bytes = this.bytes(Number(url.replace("chunk:", "")));
    const start = String.fromCharCode(...bytes.subarray(0, 4));
    const kind = MAGIC.find(([magic]) => start.startsWith(magic))?.[1];
    if (!kind) throw new Missing("That is no picture of a kind that is shown.");
    const address = URL.createObjectURL(new Blob([bytes], { type: kind }));
    this.addresses.set(url, address);
    return address;
  }

  private async unpack(number: number): Promise<unknown> {
    const packed = new Blob([this.bytes(number)]).stream();
    return new Response(packed.pipeThrough(new DecompressionStream("deflate-raw"))).json();
  }

  private bytes(number: number): Uint8Array<ArrayBuffer> {
    const element = this.page.querySelector(`script[data-chunk="${number}"]`);
    if (!element) throw new Missing("A piece of this page is missing: was it cut off?");
    const text = atob((element.textContent ?? "").trim());
    const bytes = new Uint8Array(text.length); // filled by hand: `Uint8Array.from` takes ten times as long
    for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
    return bytes;
  }
}
