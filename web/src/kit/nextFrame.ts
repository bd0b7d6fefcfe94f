/** Resolves after the next frame, when what was rendered before it is measured and marked. */
export const nextFrame = () => new Promise<void>((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
