// Columns of numbers: page/encode.rs writes them.

function bytesOf(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

// Reads LEB128. Times in nanoseconds need more than the 32 bits of JavaScript's bit operators.
class Reader {
  constructor(text) {
    this.bytes = bytesOf(text);
    this.at = 0;
    this.last = [0, 0];
  }
  plain() {
    let value = 0, scale = 1, byte;
    do {
      byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127);
    return value;
  }
  signed() {
    const value = this.plain();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }
  difference(direction) {
    return (this.last[direction] += this.signed());
  }
}

const FIN = 1, SYN = 2, RST = 4, ACK = 16, ECE = 64, CWR = 128;
const FLAG_NAMES = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR", "AE"];

// A connection: a typed array for each column, an element for each packet.
function decode(graph, number) {
  const n = graph.count;
  const read = {};
  for (const name in graph.columns) read[name] = new Reader(graph.columns[name]);
  const g = {
    number: number, file: graph.file, stream: graph.number, label: graph.label, ends: graph.ends, begins: graph.begins, mss: graph.mss,
    direction: graph.direction, comments: graph.comments, n: n, shown: true, accurateEcn: graph.accurate_ecn,
    time: new Float64Array(n), frame: new Uint32Array(n), flags: new Uint16Array(n), dir: new Uint8Array(n),
    seq: new Float64Array(n), len: new Float64Array(n), ack: new Float64Array(n), window: new Float64Array(n),
    tsval: new Float64Array(n), tsecr: new Float64Array(n), marks: new Uint16Array(n), cause: new Uint8Array(n),
    ecn: new Uint8Array(n), repeat: new Uint8Array(n),
    dsack: new Uint8Array(n), delayed: new Uint8Array(n), trip: new Float64Array(n), flight: [new Float64Array(n), new Float64Array(n)],
    class: new Uint8Array(n), recorded: new Uint8Array(n), sackAt: new Uint32Array(n + 1), sacks: [],
  };
  for (let i = 0; i < n; i++) {
    g.time[i] = read.time.difference(0) / 1e9;
    g.frame[i] = read.frame.difference(0);
    const header = read.header.plain();
    const d = g.dir[i] = header & 1;
    g.flags[i] = (header >> 1) & 511;
    g.ecn[i] = header >> 10;
    g.seq[i] = read.seq.difference(d);
    g.len[i] = read.len.plain();
    g.ack[i] = read.ack.difference(d);
    g.window[i] = read.window.difference(d) - 1;
    if (read.stamps.plain()) {
      g.tsval[i] = read.stamps.difference(0);
      g.tsecr[i] = read.stamps.difference(1);
    } else {
      g.tsval[i] = -1;
    }
    g.sackAt[i] = g.sacks.length;
    for (let blocks = read.sacks.plain(); blocks > 0; blocks--) {
      const left = g.ack[i] + read.sacks.signed();
      g.sacks.push(left, left + read.sacks.signed());
    }
    const inferred = read.inferred.plain();
    g.dsack[i] = inferred & 1;
    g.delayed[i] = (inferred >> 1) & 1;
    g.cause[i] = (inferred >> 2) & 15;
    g.repeat[i] = (inferred >> 6) & 7;
    g.marks[i] = inferred >> 9;
    g.class[i] = read.class.plain();
    g.recorded[i] = read.recorded.plain();
    g.trip[i] = read.trip.plain() / 1e9;
    for (const end of [0, 1]) g.flight[end][i] = read.flight.difference(end);
  }
  g.sackAt[n] = g.sacks.length;
  g.lanes = graph.lanes.map(lane);
  g.lanes.forEach((l, end) => { l.evidence = graph.evidence[end]; });
  g.left_out = graph.left_out;
  g.extra = graph.series.map(extraSeries);
  g.sides = [side(g, 0), side(g, 1)];
  return g;
}
