import { use, useEffect, useState, type CSSProperties } from "react";
import { PictureUrlContext } from "../contexts";
import { size } from "../kit/format";
import { PlainText, visible } from "../kit/PlainText";
import type { Picture as PictureNode } from "../data/values";
import type { NodeProps } from "./nodeProps";

const RASTER = /^image\/(png|jpeg|gif|webp|bmp|avif)$/;

/** The highest that a picture is until it is enlarged; the style sheet has it too. */
const HIGHEST = 320;

/** The place of a picture, kept before it is loaded. */
const place = ({ width, height }: PictureNode, large: boolean): CSSProperties | undefined =>
  width && height ? { width: large ? width : Math.min(width, (HIGHEST * width) / height), aspectRatio: `${width} / ${height}` } : undefined;

export function Picture({ node }: NodeProps<PictureNode>) {
  const pictureUrl = use(PictureUrlContext);
  const [url, setUrl] = useState<string | null>(null);
  const [large, setLarge] = useState(false);
  const [broken, setBroken] = useState(false);
  const raster = RASTER.test(node.media_type);
  useEffect(() => {
    if (!raster) return;
    if (node.data) setUrl(`data:${node.media_type};base64,${node.data}`);
    else if (node.url) pictureUrl(node.url).then(setUrl, () => setBroken(true));
  }, [node, raster, pictureUrl]);
  const caption = [node.name, node.media_type, node.size !== null && size(node.size)].filter(Boolean).join(", ");
  if (!raster || broken || (!node.data && !node.url)) return (
      <p className="picture-text">
        ▣ <PlainText text={caption} />
      </p>
    );
  return (
    <button
      type="button"
      className={large ? "picture large" : "picture"}
      aria-label={visible(large ? `shrink: ${caption}` : `enlarge: ${caption}`)}
      aria-expanded={large}
      style={place(node, large)}
      onClick={() => setLarge(!large)}
      onKeyDown={(event) => event.key === "Escape" && setLarge(false)}
    >
      <img
        src={url ?? undefined}
        alt={visible(caption)}
        onError={() => setBroken(true)}
      />
    </button>
  );
}
