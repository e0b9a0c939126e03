// Ticks, numbers as people write them, and the palette of Okabe and Ito, which everybody can tell apart.

const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8a7f00"];
// From the ninth connection on colors come again, with dashes of their own.
const DASHES = [[], [7, 2], [2, 2], [7, 2, 2, 2]];
const dashOf = g => DASHES[Math.floor(g.number / COLORS.length) % DASHES.length];
const INK = { ack: "#009e73", window: "#b58900", sack: "#7b3fb5", flag: "#d55e00", ecn: "#c11574", grid: "#e7e9ec", text: "#57606a" };

// Ticks at 1, 2 and 5.
function ticks(low, high, count) {
  const span = high - low;
  if (!(span > 0)) return [];
  const rough = span / Math.max(1, count);
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = power * [1, 2, 5, 10].find(m => m * power >= rough);
  const list = [];
  for (let k = Math.ceil(low / step); k * step <= high && list.length < 50; k++) list.push(k * step);
  list.step = step;
  return list;
}

// With as many digits as the step between two ticks needs.
function inSteps(value, step) {
  const digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step) + 1e-9)));
  return value.toFixed(digits);
}

const PREFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

function withPrefix(most) {
  return PREFIXES.find(p => Math.abs(most) >= p[0]) || [1, ""];
}

function timeUnit(span) {
  if (span < 2e-3) return [1e-6, "µs"];
  return span < 2 ? [1e-3, "ms"] : [1, "s"];
}

function seconds(value) {
  const size = Math.abs(value);
  if (size < 1e-3) return (value * 1e6).toFixed(1) + " µs";
  return size < 1 ? (value * 1e3).toFixed(3) + " ms" : value.toFixed(6) + " s";
}

function whole(value) {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, " ");
}

// The first of the sorted numbers that is not below the value.
function lowerBound(sorted, value) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}
