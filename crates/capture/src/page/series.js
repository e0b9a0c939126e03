// What a direction of a connection shows: series of points sorted by time, with levels of detail above them.

// Each entry of a level sums up this many of the one below.
const FANOUT = 16;

// Points (t, low, high): a mark reaches from low to high. `which` has the packet of each.
class Series {
  constructor(time, which, low, high) {
    let order = null;
    for (let i = 1; i < time.length; i++) {
      if (time[i] < time[i - 1]) { order = true; break; }
    }
    if (order) {
      // A file need not be in the order of time.
      order = Uint32Array.from(time, (_, i) => i).sort((a, b) => time[a] - time[b] || a - b);
      const sorted = from => from.map((_, i) => from[order[i]]);
      time = sorted(time); which = sorted(which);
      const same = low === high;
      low = sorted(low); high = same ? low : sorted(high);
    }
    this.time = time; this.which = which; this.low = low; this.high = high;
    this.levels = [];
    for (let below = this; below.low.length > FANOUT * 4; ) {
      const n = Math.ceil(below.low.length / FANOUT);
      const level = { low: new Float64Array(n), high: new Float64Array(n) };
      for (let i = 0; i < n; i++) {
        let a = Infinity, b = -Infinity;
        for (let k = i * FANOUT, end = Math.min(k + FANOUT, below.low.length); k < end; k++) {
          if (below.low[k] < a) a = below.low[k];
          if (below.high[k] > b) b = below.high[k];
        }
        level.low[i] = a; level.high[i] = b;
      }
      this.levels.push(level);
      below = level;
    }
  }
  // The points of a span of time: [begin, end).
  range(from, to) {
    return [lowerBound(this.time, from), lowerBound(this.time, to)];
  }
  // Least and most of points [begin, end), by the highest levels that fit.
  extent(begin, end) {
    let least = Infinity, most = -Infinity;
    while (begin < end) {
      let level = -1, size = 1;
      while (level + 1 < this.levels.length && begin % (size * FANOUT) === 0 && begin + size * FANOUT <= end) {
        level++;
        size *= FANOUT;
      }
      const from = level < 0 ? this : this.levels[level];
      const k = begin / size;
      if (from.low[k] < least) least = from.low[k];
      if (from.high[k] > most) most = from.high[k];
      begin += size;
    }
    return [least, most];
  }
}

function pick(g, wanted, low, high) {
  const which = [];
  for (let i = 0; i < g.n; i++) if (wanted(i)) which.push(i);
  const index = Uint32Array.from(which);
  const time = Float64Array.from(index, i => g.time[i]);
  const bottom = Float64Array.from(index, low);
  return new Series(time, index, bottom, high ? Float64Array.from(index, high) : bottom);
}

// A series for each class of causes, in the order of Rust's Class::ALL: of data from its first byte to its last, of ACKs at what they
// acknowledge.
function classed(g, d, end) {
  const members = page.classes.map(() => []);
  for (let i = 0; i < g.n; i++) {
    if (!g.class[i]) continue;
    const number = g.class[i] - 1;
    if ((page.classes[number].kind === "ack") !== (g.dir[i] === d)) members[number].push(i);
  }
  return members.map((which, number) => {
    if (!which.length) return null;
    const ack = page.classes[number].kind === "ack", index = Uint32Array.from(which);
    const low = Float64Array.from(index, i => (ack ? g.ack[i] : g.seq[i]));
    return new Series(Float64Array.from(index, i => g.time[i]), index, low, ack ? low : Float64Array.from(index, end));
  });
}

// Direction d: what one end sends, and what the other answers.
function side(g, d) {
  const sends = i => g.dir[i] === d, answers = i => g.dir[i] !== d && (g.flags[i] & ACK) !== 0;
  const end = i => g.seq[i] + g.len[i];
  // With Accurate ECN these flags are bits of a counter.
  const tells = (i, flag) => !g.accurateEcn && (g.flags[i] & (flag | SYN)) === flag;
  const again = i => g.class[i] > 0 && page.classes[g.class[i] - 1].kind === "again";
  const s = {
    classes: classed(g, d, end),
    again: pick(g, i => sends(i) && again(i), i => g.seq[i], end),
    controls: pick(g, i => sends(i) && (g.flags[i] & (SYN | FIN | RST)) !== 0, end),
    // Marks of congestion on their way, the peer's echoes, and what its sender says that it has done.
    ecn: pick(g, i => (sends(i) && (g.ecn[i] === 3 || tells(i, CWR))) || (answers(i) && tells(i, ECE)),
      i => (sends(i) ? end(i) : g.ack[i])),
    acks: pick(g, answers, i => g.ack[i]),
    edge: pick(g, i => answers(i) && g.window[i] >= 0, i => g.ack[i] + g.window[i]),
    sacks: pick(g, i => answers(i) && g.sackAt[i + 1] > g.sackAt[i], i => g.ack[i], i => Math.max(...g.sacks.slice(g.sackAt[i], g.sackAt[i + 1]))),
    flight: pick(g, i => sends(i) || answers(i), i => g.flight[d][i]),
    window: pick(g, i => answers(i) && g.window[i] >= 0, i => g.window[i]),
    trips: pick(g, i => answers(i) && g.trip[i] > 0, i => g.trip[i]),
  };
  // Sums up to each segment, so that the throughput of any span is a difference. Data that comes late has not been counted before; of
  // what was retransmitted only that counts which goes beyond the highest.
  const all = pick(g, i => sends(i) && g.len[i] > 0, i => g.len[i]);
  const sums = new Float64Array(all.time.length + 1), fresh = new Float64Array(all.time.length + 1);
  let newest = -Infinity;
  for (let k = 0; k < all.time.length; k++) {
    const i = all.which[k], late = page.repeats[g.repeat[i]].startsWith("late:");
    sums[k + 1] = sums[k] + g.len[i];
    const to = end(i);
    fresh[k + 1] = fresh[k] + (newest === -Infinity || late ? g.len[i] : Math.max(0, Math.min(g.len[i], to - newest)));
    newest = Math.max(newest, to);
  }
  s.sums = { time: all.time, all: sums, fresh: fresh };
  return s;
}
