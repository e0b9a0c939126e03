// The page: its state, its canvases, its buttons.

const page = JSON.parse(document.getElementById("data").textContent);
const graphs = page.graphs.map(decode);
page.graphs = null;

// Where each connection begins, for a clock that all of them share.
const origin = graphs.reduce((least, g) => (BigInt(g.begins) < least ? BigInt(g.begins) : least), BigInt(graphs.length ? graphs[0].begins : 0));
for (const g of graphs) g.offset = Number(BigInt(g.begins) - origin) / 1e9;

const view = { from: 0, to: 1, y: NO_HEIGHTS.slice(), reverse: false, beside: page.beside, windows: false, clock: false, off: new Set() };
let whole_span = [0, 1];
let sections = [];
let waiting = false;

function measure() {
  let least = Infinity, most = -Infinity;
  for (const g of graphs) {
    for (let i = 0; i < g.n; i++) {
      const t = g.time[i] + shift(g);
      if (t < least) least = t;
      if (t > most) most = t;
    }
  }
  if (!(most >= least)) [least, most] = [0, 1];
  const room = (most - least || 0.001) * 0.02;
  whole_span = [least - room, most + room];
}

function draw(ratio) {
  for (const s of sections) {
    const width = s.canvas.clientWidth, height = s.canvas.clientHeight, r = ratio || window.devicePixelRatio || 1;
    if (s.canvas.width !== Math.round(width * r) || s.canvas.height !== Math.round(height * r)) {
      s.canvas.width = Math.round(width * r);
      s.canvas.height = Math.round(height * r);
    }
    s.context.setTransform(r, 0, 0, r, 0, 0);
    s.panels = drawPanels(s.context, width, height, s.graphs);
  }
}

function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; draw(); });
}

const nameOf = g => {
  const d = direction(g);
  return (page_files > 1 ? g.file + " " : "") + "#" + g.stream + (g.label ? " (" + g.label + ")" : "") + " " + g.ends[d] + " → " + g.ends[1 - d];
};
const page_files = new Set(graphs.map(g => g.file)).size;

function build() {
  const main = document.getElementById("main");
  main.textContent = "";
  main.className = view.beside ? "beside" : "";
  const groups = view.beside ? graphs.map(g => [g]) : [graphs];
  const taken = document.querySelector("header").offsetHeight + 64;
  sections = groups.map(group => {
    const section = document.createElement("section"), canvas = document.createElement("canvas");
    if (view.beside) section.appendChild(document.createElement("h2")).textContent = nameOf(group[0]);
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "Time-sequence graph of " + group.map(nameOf).join(", "));
    const least = group.some(g => g.extra.some(e => e.panel === QUEUE)) ? 580 : 460;
    canvas.style.height = Math.max(least, innerHeight - taken) + "px";
    section.appendChild(canvas);
    main.appendChild(section);
    const s = { canvas: canvas, context: canvas.getContext("2d"), graphs: group, panels: [] };
    listen(s);
    return s;
  });
  legend();
  draw();
}

function legend() {
  const box = document.getElementById("legend");
  box.textContent = "";
  const entry = (name, color) => {
    const span = box.appendChild(document.createElement("span"));
    span.style.setProperty("--c", color);
    return span.appendChild(document.createTextNode(name)), span;
  };
  const toggle = (name, color, on, act) => {
    const button = entry("", color).appendChild(document.createElement("button"));
    button.textContent = name;
    button.setAttribute("aria-pressed", on);
    button.onclick = () => { act(); legend(); redraw(); };
    return button;
  };
  if (graphs.length > 1) for (const g of graphs) toggle(nameOf(g), COLORS[g.number % COLORS.length], g.shown, () => { g.shown = !g.shown; });
  else entry(graphs.length ? nameOf(graphs[0]) : "", INK_DATA).className = "plain";
  page.classes.forEach((c, number) => {
    const members = graphs.filter(g => sideOf(g).classes[number]);
    if (!members.length) return;
    // Recorded in all, in some, or in none.
    const known = members.filter(g => g.recorded[sideOf(g).classes[number].which[0]]).length;
    const inferred = known === members.length || c.name === "new data" ? "" : known ? " (partly inferred)" : " (inferred)";
    const color = c.kind === "data" && graphs.length > 1 && !view.beside ? INK.text : c.color;
    const button = toggle(c.name + inferred, color, !view.off.has(number), () => { if (!view.off.delete(number)) view.off.add(number); });
    button.dataset.class = number;
    button.title = "Show or hide";
  });
  const limited = page.limiters.filter((_, number) => graphs.some(g => g.lanes[direction(g)].limiters.has(number)));
  for (const limiter of limited) entry("limited by: " + limiter.name, limiter.color);
  const known = new Map(graphs.flatMap(g => g.extra.filter(e => e.end === -1 || e.end === direction(g))).map(e => [e.name, e.color]));
  for (const [name, color] of known) entry(name, color);
  const rows = [["acknowledged", INK.ack], ["window", INK.window], ["SACK", INK.sack], ["SYN, FIN, RST", INK.flag]];
  if (graphs.some(g => sideOf(g).ecn.time.length)) rows.push(["CE, ECE, CWR", INK.ecn]);
  for (const [name, color] of rows) entry(name, color);
  const left_out = graphs.reduce((sum, g) => sum + g.left_out, 0);
  if (left_out) entry("left out: " + whole(left_out) + " copies, or of an earlier connection", INK.grid);
}

// Switches of the view, by name.
const SWITCHES = { reverse: "Other direction", beside: "Side by side", windows: "Whole window", clock: "One clock" };

function press(name) {
  view[name] = !view[name];
  for (const button of document.querySelectorAll("#tools [data-name]")) button.setAttribute("aria-pressed", view[button.dataset.name]);
  if (name === "clock") { measure(); showAll(); }
  if (name === "reverse") view.y = NO_HEIGHTS.slice();
  if (name === "beside" || name === "reverse") build(); else redraw();
}

function tools() {
  const nav = document.getElementById("tools");
  const button = (name, act) => {
    const made = nav.appendChild(document.createElement("button"));
    made.type = "button";
    made.textContent = name;
    made.onclick = act;
    return made;
  };
  const middle = () => (view.from + view.to) / 2;
  button("All", showAll);
  button("+", () => zoomTime(0.5, middle())).setAttribute("aria-label", "Zoom in");
  button("−", () => zoomTime(2, middle())).setAttribute("aria-label", "Zoom out");
  button("Next retransmission", () => jump(1));
  for (const name in SWITCHES) {
    if (graphs.length < 2 && (name === "beside" || name === "clock")) continue;
    const made = button(SWITCHES[name], () => press(name));
    made.dataset.name = name;
    made.setAttribute("aria-pressed", view[name]);
  }
}

addEventListener("keydown", key);
addEventListener("resize", () => build());
// Paper has its own width, and wants finer lines.
addEventListener("beforeprint", () => { for (const s of sections) s.canvas.style.height = "150mm"; draw(3); });
addEventListener("afterprint", () => build());
tools();
measure();
[view.from, view.to] = whole_span;
build();
// For whoever measures: not used by the page itself.
window.bentpipe = { view: view, draw: draw, graphs: graphs, sections: () => sections, nearest: (x, y) => nearest(sections[0], x, y), factsOf: factsOf };
document.documentElement.dataset.ready = "yes";
