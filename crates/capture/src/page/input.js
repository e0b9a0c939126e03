// Wheel, drag, touch and keys; and the facts of the packet below the pointer.

const facts = document.getElementById("facts");

function zoomTime(factor, at) {
  const from = at - (at - view.from) * factor, to = at + (view.to - at) * factor;
  if (to - from < 1e-7 || to - from > (whole_span[1] - whole_span[0]) * 4) return;
  view.from = from;
  view.to = to;
  redraw();
}

function moveTime(by) {
  view.from += by;
  view.to += by;
  redraw();
}

function showAll() {
  [view.from, view.to] = whole_span;
  view.y = NO_HEIGHTS.slice();
  redraw();
}

function zoomHeight(s, panel, factor, value) {
  const y = s.panels[panel].y;
  view.y[panel] = [value - (value - y[0]) * factor, value + (y[1] - value) * factor];
  redraw();
}

const panelAt = (s, y) => Math.max(0, s.panels.findIndex(p => y >= p.box.top - 8 && y <= p.box.top + p.box.height + 8));
const timeAt = (p, x) => view.from + (x - p.box.left) / p.map.sx;
const valueAt = (p, y) => p.y[0] + (p.box.top + p.box.height - y) / p.map.sy;

// The packet nearest to a point, within some pixels.
function nearest(s, x, y) {
  const number = panelAt(s, y), p = s.panels[number], reach = 14;
  let best = null, distance = reach * reach;
  for (const g of s.graphs.filter(g => g.shown)) {
    const off = shift(g);
    for (const part of content(number, g, s.graphs.length === 1)) {
      if (!part.series || part.facts === false) continue;
      const r = part.series, [begin, end] = r.range(timeAt(p, x - reach) - off, timeAt(p, x + reach) - off);
      // Where thousands lie within reach, some of them are as good as all.
      const step = Math.max(1, Math.floor((end - begin) / 5000));
      for (let k = begin; k < end; k += step) {
        const dx = p.map.x(r.time[k] + off) - x, low = p.map.y(r.low[k]), high = p.map.y(r.high[k]);
        const dy = y > low ? y - low : y < high ? high - y : 0, d = dx * dx + dy * dy;
        if (d < distance) { distance = d; best = { g: g, i: r.which[k] }; }
      }
    }
  }
  return best;
}

function bits(value, names) {
  return names.filter((_, bit) => value & (1 << bit));
}

// All that is known of a packet, as rows of a table.
function factsOf(g, i) {
  const d = g.dir[i], rows = [["time", seconds(g.time[i])], ["flags", bits(g.flags[i], FLAG_NAMES).join(" ") || "none"]];
  rows.push(["sequence", whole(g.seq[i]) + (g.len[i] ? " to " + whole(g.seq[i] + g.len[i]) : "")]);
  rows.push(["data", whole(g.len[i]) + " B" + (g.len[i] > g.mss[d] ? " (a super-segment of " + Math.ceil(g.len[i] / g.mss[d]) + " packets)" : "")]);
  if (g.flags[i] & ACK) rows.push(["acknowledges", whole(g.ack[i])]);
  rows.push(["window", g.window[i] >= 0 ? whole(g.window[i]) + " B" : "unknown: its scale is not in the capture"]);
  rows.push(["outstanding", whole(g.flight[g.dir[i]][i]) + " B"]);
  if (g.sackAt[i + 1] > g.sackAt[i]) {
    const blocks = [];
    for (let b = g.sackAt[i]; b < g.sackAt[i + 1]; b += 2) blocks.push(whole(g.sacks[b]) + " to " + whole(g.sacks[b + 1]));
    rows.push([g.dsack[i] ? "DSACK, SACK" : "SACK", blocks.join(", ")]);
  }
  if (g.tsval[i] >= 0) rows.push(["timestamps", g.tsval[i] + ", echo " + g.tsecr[i]]);
  if (g.trip[i] > 0) rows.push(["round trip", seconds(g.trip[i]) + (g.delayed[i] ? " (delayed ACK)" : "")]);
  if (g.ecn[i] === 3) rows.push(["ECN", "congestion experienced (CE)"]);
  if (g.repeat[i]) rows.push(["data", page.repeats[g.repeat[i]]]);
  const marks = bits(g.marks[i], page.marks);
  if (marks.length) rows.push(["inferred", marks.join(", ").replace(/_/g, " ")]);
  if (g.recorded[i]) rows.push(["cause", page.recorded[g.recorded[i] - 1]]);
  else if (g.cause[i]) rows.push(["cause (inferred)", page.causes[g.cause[i] - 1]]);
  if (g.comments[i]) rows.push(["comment", g.comments[i]]);
  return rows;
}

function showFacts(found, x, y) {
  if (!found) { facts.hidden = true; return; }
  const g = found.g, d = g.dir[found.i];
  showTable("Packet " + g.frame[found.i] + ": " + g.ends[d] + " → " + g.ends[1 - d], factsOf(g, found.i), x, y);
}

// What is below the pointer: a part of the lane, or a packet.
function point(s, at, event) {
  const found = limitAt(s, at.x, at.y);
  if (found) showTable(found.title, found.rows, event.clientX, event.clientY);
  else showFacts(nearest(s, at.x, at.y), event.clientX, event.clientY);
}

function showTable(title, rows, x, y) {
  facts.textContent = "";
  const head = document.createElement("b");
  head.textContent = title;
  const table = document.createElement("table");
  for (const row of rows) {
    const tr = table.insertRow();
    for (const cell of row) tr.insertCell().textContent = cell;
  }
  facts.append(head, table);
  facts.hidden = false;
  const w = facts.offsetWidth, h = facts.offsetHeight;
  facts.style.left = Math.max(4, x + 16 + w > innerWidth ? x - w - 12 : x + 16) + "px";
  facts.style.top = Math.max(4, Math.min(y + 12, innerHeight - h - 4)) + "px";
}

// To the next retransmission, or the last one before.
function jump(by) {
  const middle = (view.from + view.to) / 2;
  let best = null;
  for (const g of graphs.filter(g => g.shown)) {
    const s = sideOf(g).again, off = shift(g), eps = (view.to - view.from) * 1e-6;
    const k = by > 0 ? lowerBound(s.time, middle - off + eps) : lowerBound(s.time, middle - off - eps) - 1;
    if (k < 0 || k >= s.time.length) continue;
    const t = s.time[k] + off;
    if (best === null || Math.abs(t - middle) < Math.abs(best - middle)) best = t;
  }
  if (best !== null) moveTime(best - middle);
}

function key(event) {
  const span = view.to - view.from, middle = (view.from + view.to) / 2;
  const y = sections[0].panels[0].y, up = (y[1] - y[0]) / 5;
  const acts = {
    ArrowLeft: () => moveTime(-span / 5), ArrowRight: () => moveTime(span / 5),
    ArrowUp: () => { view.y[0] = [y[0] + up, y[1] + up]; redraw(); }, ArrowDown: () => { view.y[0] = [y[0] - up, y[1] - up]; redraw(); },
    "+": () => zoomTime(0.7, middle), "=": () => zoomTime(0.7, middle), "-": () => zoomTime(1 / 0.7, middle),
    "0": showAll, Home: showAll, n: () => jump(1), p: () => jump(-1),
    d: () => press("reverse"), s: () => press("beside"), w: () => press("windows"), c: () => press("clock"),
    f: () => { view.y = NO_HEIGHTS.slice(); redraw(); }, Escape: () => showFacts(null),
  };
  if (event.ctrlKey || event.metaKey || event.altKey || !acts[event.key]) return;
  event.preventDefault();
  acts[event.key]();
}

// The pointers of one canvas: a mouse or fingers.
function listen(s) {
  const canvas = s.canvas, down = new Map();
  let start = null, box = null;
  const place = event => {
    const r = canvas.getBoundingClientRect();
    return { x: event.clientX - r.left, y: event.clientY - r.top };
  };
  canvas.addEventListener("wheel", event => {
    event.preventDefault();
    const at = place(event), panel = panelAt(s, at.y), p = s.panels[panel];
    const factor = Math.exp(Math.max(-1, Math.min(1, (event.deltaY || event.deltaX) / 300)));
    if (event.shiftKey) zoomHeight(s, panel, factor, valueAt(p, at.y)); else zoomTime(factor, timeAt(p, at.x));
  }, { passive: false });
  canvas.addEventListener("pointerdown", event => {
    canvas.setPointerCapture(event.pointerId);
    canvas.focus({ preventScroll: true });
    down.set(event.pointerId, place(event));
    start = place(event);
    box = event.altKey ? start : null;
  });
  canvas.addEventListener("pointermove", event => {
    const at = place(event), before = down.get(event.pointerId);
    if (!before) { point(s, at, event); return; }
    down.set(event.pointerId, at);
    facts.hidden = true;
    if (down.size === 2) {
      const [a, b] = [...down.values()], other = a === at ? b : a;
      const was = Math.abs(before.x - other.x), is = Math.abs(at.x - other.x);
      if (was > 8 && is > 8) zoomTime(was / is, timeAt(s.panels[0], (at.x + other.x) / 2));
    } else if (box) {
      redraw();
      requestAnimationFrame(() => {
        const c = s.context;
        c.strokeStyle = "#0072b2";
        c.strokeRect(box ? box.x : 0, box ? box.y : 0, at.x - (box ? box.x : 0), at.y - (box ? box.y : 0));
      });
    } else {
      const panel = panelAt(s, start.y), p = s.panels[panel];
      const by = (at.y - before.y) / p.map.sy;
      if (view.y[panel]) view.y[panel] = view.y[panel].map(v => v + by);
      moveTime((before.x - at.x) / p.map.sx);
    }
  });
  const up = event => {
    const at = place(event);
    down.delete(event.pointerId);
    if (box && Math.abs(at.x - box.x) > 4) {
      const panel = panelAt(s, box.y), p = s.panels[panel];
      const [a, b] = [timeAt(p, box.x), timeAt(p, at.x)], [v, w] = [valueAt(p, box.y), valueAt(p, at.y)];
      if (Math.abs(v - w) * p.map.sy > 4) view.y[panel] = [Math.min(v, w), Math.max(v, w)];
      [view.from, view.to] = [Math.min(a, b), Math.max(a, b)];
      redraw();
    } else if (start && Math.hypot(at.x - start.x, at.y - start.y) < 4) {
      point(s, at, event);
    }
    box = null;
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", event => down.delete(event.pointerId));
  canvas.addEventListener("pointerleave", () => { facts.hidden = true; });
  canvas.addEventListener("dblclick", showAll);
}
