// SPDX-License-Identifier: MIT OR Apache-2.0
// Axes: places, ticks and spans. As in scale.rs, chart.rs and axes.rs of the crate netnice-chart.

class Scale {
  constructor(domain, logarithmic, from, to) {
    Object.assign(this, { domain, logarithmic, from, to });
  }

  place(value) {
    const [least, largest] = this.domain;
    const part = this.logarithmic
      ? Math.log(value / least) / Math.log(largest / least)
      : (value - least) / (largest - least);
    return this.from + part * (this.to - this.from);
  }

  value(place) {
    const [least, largest] = this.domain;
    const part = (place - this.from) / (this.to - this.from);
    return this.logarithmic
      ? least * Math.pow(largest / least, part)
      : least + part * (largest - least);
  }

  ticks(wanted) {
    return this.logarithmic ? logarithmicTicks(this.domain, wanted) : linearTicks(this.domain, wanted);
  }
}

function linearTicks([least, largest], wanted) {
  const rough = (largest - least) / wanted;
  let exponent = Math.floor(Math.log10(rough));
  const mantissa = rough / Math.pow(10, exponent);
  let factor = [1, 2, 5].find((factor) => mantissa <= factor);
  if (factor === undefined) {
    factor = 1;
    exponent += 1;
  }
  const step = factor * Math.pow(10, exponent);
  const decimals = Math.min(Math.max(0, -exponent), 20);
  const ticks = [];
  const last = Math.floor(largest / step + 1e-9);
  for (let number = Math.ceil(least / step - 1e-9); number <= last; number++) {
    // Without the sign of a negative zero.
    const value = number * step + 0;
    ticks.push({ value, label: value.toFixed(decimals) });
  }
  return ticks;
}

function logarithmicTicks(domain, wanted) {
  const [least, largest] = domain;
  const first = Math.floor(Math.log10(least));
  const last = Math.ceil(Math.log10(largest));
  const ticksOf = (factors, every) => {
    const ticks = [];
    for (let decade = first; decade <= last; decade++) {
      if (decade % every !== 0) continue;
      for (const factor of factors) {
        const value = factor * Math.pow(10, decade);
        if (value >= least * (1 - 1e-9) && value <= largest * (1 + 1e-9)) {
          ticks.push({ value, label: powerLabel(factor, decade) });
        }
      }
    }
    return ticks;
  };
  const fine = ticksOf([1, 2, 5], 1);
  if (fine.length < 3) return linearTicks(domain, wanted);
  if (fine.length <= wanted * 1.5) return fine;
  let every = 1;
  while (ticksOf([1], every).length > wanted * 1.5) every++;
  return ticksOf([1], every);
}

function powerLabel(factor, decade) {
  if (decade >= 0 && decade <= 5) return `${factor}${"0".repeat(decade)}`;
  if (decade >= -4 && decade < 0) return `0.${"0".repeat(-decade - 1)}${factor}`;
  return `${factor}e${decade}`;
}

const spanOf = (values) => {
  let [least, largest] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < least) least = value;
    if (value > largest) largest = value;
  }
  return [least, largest];
};

function xDomain(data) {
  if (data.kind === "bars") return [-0.5, Math.max(data.names.length, 1) - 0.5];
  const room = data.kind === "lines" ? 0.03 : 0;
  const values = data.curves.flatMap((curve) => curve.points.map((point) => point[0]));
  return widened(spanOf(values), data.x.logarithmic, room, room);
}

// The span of the vertical axis for these points.
function yDomain(data, points) {
  const values = [];
  for (const [, y, half = 0, range] of points) {
    const [low, high] = range ?? [y - half, y + half];
    values.push(data.y.logarithmic && low <= 0 ? y : low, high);
  }
  let [least, largest] = spanOf(values);
  if (data.y.logarithmic) return widened([least, largest], true, 0.04, 0.04);
  if (data.kind === "bars" || (least >= 0 && least <= 0.75 * largest)) {
    least = Math.min(least, 0);
    largest = Math.max(largest, 0);
    return widened([least, largest], false, least < 0 ? 0.05 : 0, largest > 0 ? 0.05 : 0);
  }
  return widened([least, largest], false, 0.05, 0.05);
}

function widened([least, largest], logarithmic, below, above) {
  if (least > largest) return logarithmic ? [1, 10] : [0, 1];
  if (logarithmic) {
    if (least === largest) return [least / 2, largest * 2];
    const ratio = largest / least;
    return [least / Math.pow(ratio, below), largest * Math.pow(ratio, above)];
  }
  if (least === largest) {
    const room = least === 0 ? 1 : Math.abs(least) / 2;
    return [least - room, largest + room];
  }
  const span = largest - least;
  return [least - below * span, largest + above * span];
}

// A number as tables have it: four significant digits.
function plain(value) {
  if (value === 0 || !Number.isFinite(value)) return String(value + 0);
  const digits = Math.min(Math.max(3 - Math.floor(Math.log10(Math.abs(value))), 0), 9);
  const text = value.toFixed(digits);
  return (text.includes(".") ? text.replace(/\.?0+$/, "") : text).replace("-", "\u2212");
}
