import { useEffect, useState } from "react";
import { useSource } from "../contexts";
import { bytes } from "../kit/words";
import type { Picture as PictureNode } from "../values";
import type { NodeProps } from "./drawing";

const RASTER = /^image\/(png|jpeg|gif|webp|bmp|avif)$/;

export function Picture({ node }: NodeProps<PictureNode>) {
  const source = useSource();
  const [address, setAddress] = useState<string | null>(null);
  const [large, setLarge] = useState(false);
  const [broken, setBroken] = useState(false);
  const raster = RASTER.test(node.media_type);
  useEffect(() => {
    if (!raster) return;
    if (node.data) setAddress(`data:${node.media_type};base64,${node.data}`);
    else if (node.url) source.picture(node.url).then(setAddress, () => setBroken(true));
  }, [node, raster, source]);
  const said = [node.name, node.media_type, node.size !== null && bytes(node.size)].filter(Boolean).join(", ");
  if (!raster || broken || (!node.data && !node.url)) return <p className="picture-words">▣ {said}</p>;
  return (
    <button
      type="button"
      className={large ? "picture large" : "picture"}
      aria-label={large ? `make smaller: ${said}` : `enlarge: ${said}`}
      aria-expanded={large}
      onClick={() => setLarge(!large)}
      onKeyDown={(event) => event.key === "Escape" && setLarge(false)}
    >
      <img
        src={address ?? undefined}
        alt={said}
        width={node.width ?? undefined}
        height={node.height ?? undefined}
        onError={() => setBroken(true)}
      />
    </button>
  );
}
