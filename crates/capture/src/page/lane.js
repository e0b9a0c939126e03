// What limited the sender, as a lane under the sequence graph; and what an end has recorded besides packets: cwnd, timers, queues.

const LANE = { top: 5, height: 10, most: 4 };

// Spans of time, sorted: each with its limiter's number, and whether that is inferred.
function lane(text) {
  const read = new Reader(text), n = read.bytes.length ? read.plain() : 0;
  const l = { n: n, from: new Float64Array(n), to: new Float64Array(n), limiter: new Uint8Array(n), inferred: new Uint8Array(n), limiters: new Set() };
  for (let k = 0; k < n; k++) {
    l.from[k] = read.difference(0) / 1e9;
    l.to[k] = l.from[k] + read.plain() / 1e9;
    const what = read.plain();
    l.inferred[k] = what & 1;
    l.limiter[k] = what >> 1;
    l.limiters.add(l.limiter[k]);
  }
  return l;
}

// A recorded quantity: a step wherever it changes.
function extraSeries(e) {
  const read = new Reader(e.values), n = read.plain(), scale = e.panel === 3 ? 1e9 : 1;
  const time = new Float64Array(n), value = new Float64Array(n);
  for (let k = 0; k < n; k++) {
    time[k] = read.difference(0) / 1e9;
    value[k] = read.difference(1) / scale;
  }
  return { panel: e.panel, name: e.name, unit: e.unit, color: e.color, dash: e.dash, end: e.end, series: new Series(time, Uint32Array.from(time, () => 0), value, value) };
}

// Those of a panel, of the end whose data is shown, or of neither end.
function extra(g, panel, alone) {
  const those = g.extra.filter(e => e.panel === panel && (e.end === -1 || e.end === direction(g)));
  return those.map(e => ({ kind: "step", series: e.series, color: alone ? e.color : COLORS[g.number % COLORS.length], dash: e.dash, facts: false, loose: e.name === "ssthresh" }));
}

const laneOf = g => g.lanes[direction(g)];
const laned = graphs => graphs.filter(g => g.shown && laneOf(g).n > 0).slice(0, LANE.most);
const laneHeight = graphs => (laned(graphs).length ? laned(graphs).length * (LANE.height + 2) + LANE.top : 0);

function drawLanes(c, box, graphs) {
  laned(graphs).forEach((g, row) => {
    const l = laneOf(g), off = shift(g), sx = box.width / (view.to - view.from), right = box.left + box.width;
    const y = box.top + box.height + LANE.top + row * (LANE.height + 2);
    c.fillStyle = INK.grid;
    c.fillRect(box.left, y, box.width, LANE.height);
    c.font = "9px system-ui, sans-serif";
    let end = box.left;
    for (let k = lowerBound(l.to, view.from - off); k < l.n && l.from[k] + off < view.to; k++) {
      const x = Math.max(box.left, box.left + (l.from[k] + off - view.from) * sx), to = Math.min(right, box.left + (l.to[k] + off - view.from) * sx);
      // What is narrower than a pixel is drawn once for each pixel.
      if (to <= end && to - x < 1) continue;
      c.globalAlpha = l.inferred[k] ? 0.6 : 1;
      c.fillStyle = page.limiters[l.limiter[k]].color;
      c.fillRect(x, y, Math.max(1, to - x), LANE.height);
      c.globalAlpha = 1;
      end = x + Math.max(1, to - x);
      const name = page.limiters[l.limiter[k]].name;
      if (to - x > 22 && to - x > c.measureText(name).width + 6) {
        c.fillStyle = "#fff";
        c.fillText(name, x + 3, y + 8);
      }
    }
  });
}

// What the lane says at a place.
function limitAt(s, x, y) {
  if (!s.panels.length) return null;
  const box = s.panels[0].box, row = Math.floor((y - box.top - box.height - LANE.top) / (LANE.height + 2));
  const g = y >= box.top + box.height + LANE.top ? laned(s.graphs)[row] : null;
  if (!g) return null;
  const l = laneOf(g), t = timeAt(s.panels[0], x) - shift(g), slack = 2 / s.panels[0].map.sx;
  const k = lowerBound(l.to, t - slack);
  if (k >= l.n || l.from[k] > t + slack) return { title: "Sending", rows: [["at", seconds(t)]] };
  const name = page.limiters[l.limiter[k]].name + (l.inferred[k] ? " (inferred)" : "");
  const rows = [["from", seconds(l.from[k])], ["for", seconds(l.to[k] - l.from[k])]];
  if (l.evidence[k]) rows.push(["as", l.evidence[k]]);
  return { title: "Limited by: " + name, rows: rows };
}
