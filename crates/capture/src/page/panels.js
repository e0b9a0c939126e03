// The panels under each other: sequence numbers, with the lane of limiters below; outstanding data and windows; throughput; round-trip
// times; and queues, where any are known.

const MARGIN = { left: 62, right: 10, top: 6, bottom: 30, gap: 16 };
const SHARES = [0.49, 0.17, 0.17, 0.17], QUEUE = 4;
const NO_HEIGHTS = [null, null, null, null, null];
// Up to this many marks for each pixel of width are drawn one by one; more are joined to columns of a pixel.
const DENSE = 3;

const direction = g => (view.reverse ? 1 - g.direction : g.direction);
const sideOf = g => g.sides[direction(g)];
const shift = g => (view.clock ? g.offset : 0);

// Where the panels are in a canvas of this size.
function layout(width, height, graphs) {
  const shares = graphs.some(g => g.extra.some(e => e.panel === QUEUE)) ? [0.42, 0.145, 0.145, 0.145, 0.145] : SHARES;
  const below = laneHeight(graphs);
  const inner = height - MARGIN.top - MARGIN.bottom - MARGIN.gap * (shares.length - 1) - below;
  let top = MARGIN.top;
  return shares.map((share, panel) => {
    const box = { left: MARGIN.left, width: Math.max(20, width - MARGIN.left - MARGIN.right), top: top, height: Math.max(16, inner * share) };
    top += box.height + MARGIN.gap + (panel === 0 ? below : 0);
    return box;
  });
}

// The marks of one kind of classes, without those that the legend has switched off. Where several connections are drawn, new data
// has the color of its connection.
function ofClasses(s, kind, color) {
  const parts = [];
  page.classes.forEach((c, number) => {
    if (c.kind !== kind || !s.classes[number] || view.off.has(number)) return;
    parts.push({ kind: kind === "ack" ? "ticks" : "bars", series: s.classes[number], color: color || c.color, arrows: true, name: c.label, thick: kind === "again" });
  });
  return parts;
}

// What the panels draw of a graph: kind, series, color.
function content(panel, g, alone) {
  const s = sideOf(g), own = alone ? INK_DATA : COLORS[g.number % COLORS.length];
  switch (panel) {
    case 0: return [
      { kind: "step", series: s.edge, color: INK.window, loose: true }, { kind: "step", series: s.acks, color: INK.ack, dash: alone ? [] : dashOf(g) },
      ...ofClasses(s, "data", alone ? null : own), { kind: "sacks", series: s.sacks, color: INK.sack }, ...ofClasses(s, "ack"),
      ...ofClasses(s, "again"), { kind: "flags", series: s.controls, color: INK.flag }, { kind: "flags", series: s.ecn, color: INK.ecn },
    ];
    case 1: return [{ kind: "step", series: s.window, color: alone ? INK.window : own, loose: true, dash: [4, 3] }, { kind: "step", series: s.flight, color: own, dash: alone ? [] : dashOf(g) }, ...extra(g, 1, alone)];
    case 2: return [{ kind: "rate", color: own }, ...extra(g, 2, alone)];
    case 3: return [{ kind: "points", series: s.trips, color: own }, ...extra(g, 3, alone)];
    default: return extra(g, QUEUE, alone);
  }
}
const INK_DATA = "#24292f";
const TITLES = ["sequence", "outstanding, window", "throughput", "round trip", "queue"];
const SHORT_TITLES = ["sequence", "in flight", "rate", "RTT", "queue"];

// The sums of a direction up to a time.
function sumAt(sums, column, time) {
  return column[lowerBound(sums.time, time)];
}

// Throughput as curves: bit/s over a hundredth of what is shown. With retransmissions, and without.
function rates(g, width) {
  const sums = sideOf(g).sums, span = view.to - view.from, half = span / 200, off = shift(g), points = Math.max(2, Math.floor(width / 2));
  const all = new Float64Array(points + 1), fresh = new Float64Array(points + 1);
  for (let k = 0; k <= points; k++) {
    const t = view.from + span * k / points - off;
    all[k] = (sumAt(sums, sums.all, t + half) - sumAt(sums, sums.all, t - half)) * 8 / (2 * half);
    fresh[k] = (sumAt(sums, sums.fresh, t + half) - sumAt(sums, sums.fresh, t - half)) * 8 / (2 * half);
  }
  return { all: all, fresh: fresh };
}

// What a panel's height shows: set by hand, or all that is visible.
function heights(panel, graphs, width) {
  if (view.y[panel]) return view.y[panel];
  let least = panel === 0 ? Infinity : 0, most = -Infinity;
  for (const g of graphs) {
    for (const part of content(panel, g, graphs.length === 1)) {
      if (part.kind === "rate") {
        for (const v of rates(g, width).all) if (v > most) most = v;
        continue;
      }
      if (part.loose && !view.windows) continue;
      const off = shift(g);
      let [begin, end] = part.series.range(view.from - off, view.to - off);
      if (part.kind === "step" && begin > 0) begin--;
      const [a, b] = part.series.extent(begin, end);
      if (panel === 0 && a < least) least = a;
      if (b > most) most = b;
    }
  }
  // Nothing is known.
  if (!(most >= least)) return [0, 1, true];
  const room = (most - least || 1) * 0.06;
  return [panel === 0 ? least - room : 0, most + room];
}

// Maps time and value to pixels of a panel.
function mapping(box, y) {
  const sx = box.width / (view.to - view.from), sy = box.height / (y[1] - y[0]);
  return { x: t => box.left + (t - view.from) * sx, y: v => box.top + box.height - (v - y[0]) * sy, sx: sx, sy: sy };
}

// Where words stand in the panel that is being drawn, of all its series: none stands over another.
let words = [];
function has_room(x, y, width) {
  if (words.length > 400 || words.some(w => Math.abs(w.y - y) < 10 && x < w.x + w.width + 3 && w.x < x + width + 3)) return false;
  words.push({ x: x, y: y, width: width });
  return true;
}

function drawBars(c, part, box, map, off) {
  const [begin, end] = part.series.range(view.from - off, view.to - off), s = part.series;
  c.strokeStyle = part.color;
  c.lineWidth = part.thick ? 1.6 : 1;
  c.beginPath();
  if (end - begin <= DENSE * box.width) {
    const arrows = part.arrows && end - begin < box.width / 3;
    // In full where there is room, as a letter where there is less; and not over the last one.
    const label = !part.name || end - begin >= box.width / 8 ? "" : end - begin < box.width / 60 ? part.name : part.name[0];
    const wide = label ? c.measureText(label).width : 0;
    for (let k = begin; k < end; k++) {
      const x = map.x(s.time[k] + off), low = map.y(s.low[k]), high = map.y(s.high[k]);
      c.moveTo(x, low);
      c.lineTo(x, Math.min(high, low - 1));
      if (arrows && low - high > 4) {
        c.moveTo(x - 2.5, low - 2.5); c.lineTo(x, low); c.lineTo(x + 2.5, low - 2.5);
        c.moveTo(x - 2.5, high + 2.5); c.lineTo(x, high); c.lineTo(x + 2.5, high + 2.5);
      }
      if (label && has_room(x - 4, high - 3, wide)) {
        c.fillStyle = part.color;
        c.fillText(label, x - 4, high - 3);
      }
    }
  } else {
    columns(s, begin, end, box, map, off, (x, low, high) => {
      c.moveTo(x, low);
      c.lineTo(x, Math.min(high, low - 1));
    });
  }
  c.stroke();
}

// Least and most in each column of a pixel.
function columns(s, begin, end, box, map, off, each) {
  const step = 1 / map.sx;
  for (let px = 0, k = begin; px < box.width && k < end; px++) {
    const border = view.from + (px + 1) * step - off;
    if (s.time[k] >= border) continue;
    let to = k + 1;
    // Gallop, then search.
    let stride = 1;
    while (to + stride < end && s.time[to + stride] < border) { to += stride; stride *= 2; }
    while (to < end && s.time[to] < border) {
      stride = Math.max(1, stride >> 1);
      if (to + stride <= end && s.time[to + stride - 1] < border) to += stride; else if (stride === 1) break;
    }
    const [low, high] = s.extent(k, to);
    each(box.left + px + 0.5, map.y(low), map.y(high), k, to);
    k = to;
  }
}

function drawStep(c, part, box, map, off) {
  const s = part.series;
  let [begin, end] = s.range(view.from - off, view.to - off);
  if (begin > 0) begin--;
  if (end < s.time.length) end++;
  if (begin >= end) return;
  c.strokeStyle = part.color;
  c.lineWidth = 1.2;
  c.setLineDash(part.dash || []);
  c.beginPath();
  if (end - begin <= DENSE * box.width) {
    let y = map.y(s.low[begin]);
    c.moveTo(map.x(s.time[begin] + off), y);
    for (let k = begin + 1; k < end; k++) {
      const x = map.x(s.time[k] + off);
      c.lineTo(x, y);
      y = map.y(s.low[k]);
      c.lineTo(x, y);
    }
  } else {
    let first = true;
    columns(s, begin, end, box, map, off, (x, low, high, k, to) => {
      if (first) c.moveTo(x, map.y(s.low[k]));
      first = false;
      c.lineTo(x, map.y(s.low[k]));
      c.lineTo(x, low);
      c.lineTo(x, high);
      c.lineTo(x, map.y(s.low[to - 1]));
    });
  }
  c.stroke();
  c.setLineDash([]);
}

function drawPoints(c, part, box, map, off) {
  const s = part.series, [begin, end] = s.range(view.from - off, view.to - off);
  c.fillStyle = part.color;
  if (end - begin <= DENSE * box.width) {
    for (let k = begin; k < end; k++) c.fillRect(map.x(s.time[k] + off) - 1, map.y(s.low[k]) - 1, 2.5, 2.5);
  } else {
    columns(s, begin, end, box, map, off, (x, low, high) => c.fillRect(x - 0.5, high - 1, 1, low - high + 2));
  }
}

// ACKs of a class: a tick where each stands on the line, with words where there is room.
function drawTicks(c, part, box, map, off) {
  const s = part.series, [begin, end] = s.range(view.from - off, view.to - off);
  c.fillStyle = part.color;
  if (end - begin > DENSE * box.width) { columns(s, begin, end, box, map, off, (x, low, high) => c.fillRect(x - 0.5, high - 1.5, 1, low - high + 3)); return; }
  const size = end - begin < box.width / 3 ? 5 : 3, named = part.name && end - begin < box.width / 200;
  for (let k = begin; k < end; k++) {
    const x = map.x(s.time[k] + off), y = map.y(s.low[k]);
    c.fillRect(x - size / 2, y - size / 2, size, size);
    if (named && has_room(x + 5, y + 11, c.measureText(part.name).width)) c.fillText(part.name, x + 5, y + 11);
  }
}

function drawSacks(c, part, g, box, map, off) {
  const s = part.series, [begin, end] = s.range(view.from - off, view.to - off);
  c.strokeStyle = part.color;
  c.lineWidth = 1;
  // One by one only where they can be told apart.
  const step = Math.max(1, Math.ceil((end - begin) / (DENSE * box.width)));
  c.beginPath();
  for (let k = begin; k < end; k += step) {
    const i = s.which[k], x = map.x(s.time[k] + off);
    for (let b = g.sackAt[i]; b < g.sackAt[i + 1]; b += 2) {
      c.moveTo(x, map.y(g.sacks[b]));
      c.lineTo(x, map.y(g.sacks[b + 1]));
    }
  }
  c.stroke();
}

// A control bit, or a mark of congestion.
function flagName(g, i) {
  const flags = g.flags[i];
  if (flags & RST) return "RST";
  if (flags & SYN) return "SYN";
  if (g.ecn[i] === 3) return "CE";
  if (g.accurateEcn) return "FIN";
  return flags & CWR ? "CWR" : flags & ECE ? "ECE" : "FIN";
}

function drawFlags(c, part, g, map, off) {
  const s = part.series, [begin, end] = s.range(view.from - off, view.to - off);
  c.fillStyle = part.color;
  for (let k = begin; k < Math.min(end, begin + 300); k++) {
    const x = map.x(s.time[k] + off), y = map.y(s.low[k]), name = flagName(g, s.which[k]);
    c.fillRect(x - 2.5, y - 2.5, 5, 5);
    if (end - begin < 40 && has_room(x + 4, y - 3, c.measureText(name).width)) c.fillText(name, x + 4, y - 3);
  }
}

function drawRate(c, part, curves, box, map) {
  const n = curves.all.length - 1;
  for (const [curve, dash] of [[curves.all, [2, 2]], [curves.fresh, []]]) {
    c.strokeStyle = part.color;
    c.lineWidth = 1.2;
    c.setLineDash(dash);
    c.beginPath();
    for (let k = 0; k <= n; k++) {
      const x = box.left + box.width * k / n, y = map.y(curve[k]);
      if (k) c.lineTo(x, y); else c.moveTo(x, y);
    }
    c.stroke();
  }
  c.setLineDash([]);
}

// The axes of a panel, and its grid.
function drawAxes(c, panel, box, y, map, last, queueUnit) {
  c.lineWidth = 1;
  c.font = "11px system-ui, sans-serif";
  const scale = panel === 3 ? timeUnit(y[1]) : withPrefix(y[1]);
  const unit = panel === 3 ? scale[1] : scale[1] + (panel === 2 ? "bit/s" : panel === QUEUE ? queueUnit : "B");
  const ys = ticks(y[0] / scale[0], y[1] / scale[0], Math.max(2, box.height / 32));
  c.strokeStyle = INK.grid;
  c.fillStyle = INK.text;
  c.textAlign = "right";
  for (const v of ys) {
    const at = Math.round(map.y(v * scale[0])) + 0.5;
    c.beginPath(); c.moveTo(box.left, at); c.lineTo(box.left + box.width, at); c.stroke();
    if (at > box.top + 3) c.fillText(inSteps(v, ys.step), box.left - 5, at + 4);
  }
  const time = timeUnit(view.to - view.from);
  const xs = ticks(view.from / time[0], view.to / time[0], Math.max(2, box.width / 90));
  c.textAlign = "center";
  for (const v of xs) {
    const at = Math.round(map.x(v * time[0])) + 0.5;
    c.beginPath(); c.moveTo(at, box.top); c.lineTo(at, box.top + box.height); c.stroke();
    if (last && at < box.left + box.width - 14) c.fillText(inSteps(v, xs.step), at, box.top + box.height + 13);
  }
  if (last) c.fillText("time (" + time[1] + ")", box.left + box.width / 2, box.top + box.height + 26);
  c.strokeStyle = "#8c959f";
  c.strokeRect(box.left + 0.5, box.top + 0.5, box.width, box.height);
  c.save();
  c.translate(11, box.top + box.height / 2);
  c.rotate(-Math.PI / 2);
  const title = (box.height > 130 ? TITLES : SHORT_TITLES)[panel];
  c.fillText(title + " (" + unit + ")", 0, 0);
  c.restore();
  c.textAlign = "left";
}

// Draws all panels of some graphs.
function drawPanels(c, width, height, graphs) {
  c.clearRect(0, 0, width, height);
  const shown = graphs.filter(g => g.shown), alone = graphs.length === 1;
  const boxes = layout(width, height, graphs);
  drawLanes(c, boxes[0], shown);
  const queues = graphs.flatMap(g => g.extra).filter(e => e.panel === QUEUE), queueUnit = queues.length ? queues[0].unit : "";
  return boxes.map((box, panel) => {
    const y = heights(panel, shown, box.width), map = mapping(box, y);
    drawAxes(c, panel, box, y, map, panel === boxes.length - 1, queueUnit);
    words = [];
    if (y[2] && shown.length) {
      c.fillStyle = INK.text;
      c.fillText("none", box.left + 6, box.top + 14);
    }
    c.save();
    c.beginPath(); c.rect(box.left, box.top, box.width, box.height); c.clip();
    for (const g of shown) {
      const off = shift(g);
      for (const part of content(panel, g, alone)) {
        switch (part.kind) {
          case "bars": drawBars(c, part, box, map, off); break;
          case "step": drawStep(c, part, box, map, off); break;
          case "points": drawPoints(c, part, box, map, off); break;
          case "sacks": drawSacks(c, part, g, box, map, off); break;
          case "ticks": drawTicks(c, part, box, map, off); break;
          case "flags": drawFlags(c, part, g, map, off); break;
          default: drawRate(c, part, rates(g, box.width), box, map);
        }
      }
    }
    c.restore();
    return { box: box, y: y, map: map };
  });
}
