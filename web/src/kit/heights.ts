/** The row heights of a very long list: offsets are computed and heights changed in logarithmic time. */

export class Heights {
  private heights = new Float64Array(0);
  /** A Fenwick tree: entry `i` has the sum of the `i & -i` heights that end with row `i - 1`. */
  private sums = new Float64Array(1);
  count = 0;

  constructor(
    count: number,
    private readonly estimate: number,
  ) {
    this.resize(count);
  }

  /** The height of the whole list. */
  get total(): number {
    return this.top(this.count);
  }

  /** The offset of a row. */
  top(row: number): number {
    let sum = 0;
    for (let at = Math.min(row, this.count); at > 0; at &= at - 1) sum += this.sums[at] ?? 0;
    return sum;
  }

  height(row: number): number {
    return this.heights[row] ?? this.estimate;
  }

  /** The row at an offset; beyond the ends, the first or the last. */
  at(offset: number): number {
    let row = 0;
    let left = offset;
    for (let step = highestPower(this.count); step > 0; step >>= 1) {
      const sum = this.sums[row + step];
      if (row + step <= this.count && sum !== undefined && sum <= left) {
        row += step;
        left -= sum;
      }
    }
    return Math.max(0, Math.min(row, this.count - 1));
  }

  /** Set the height of a row, and return by how much it changed. */
  set(row: number, height: number): number {
    const change = height - this.height(row);
    if (row >= this.count || change === 0) return 0;
    this.heights[row] = height;
    for (let at = row + 1; at <= this.count; at += at & -at) this.sums[at] = (this.sums[at] ?? 0) + change;
    return change;
  }

  /** Change the number of rows; the remaining ones keep their heights. */
  resize(count: number): void {
    if (count === this.count) return;
    const heights = new Float64Array(count).fill(this.estimate);
    heights.set(this.heights.subarray(0, Math.min(count, this.count)));
    const sums = new Float64Array(count + 1);
    for (let at = 1; at <= count; at += 1) {
      sums[at] = (sums[at] ?? 0) + (heights[at - 1] ?? 0);
      const above = at + (at & -at);
      if (above <= count) sums[above] = (sums[above] ?? 0) + (sums[at] ?? 0);
    }
    this.heights = heights;
    this.sums = sums;
    this.count = count;
  }
}

const highestPower = (count: number): number => (count ? 1 << (31 - Math.clz32(count)) : 0);
