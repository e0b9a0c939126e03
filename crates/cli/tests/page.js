// What a person does on the page, as events; each expectation that fails is a line of the result.
"use strict";
(function () {
  const failed = [];
  const expect = (what, holds) => { if (!holds) failed.push(what); };
  const finish = () => {
    const errors = window.page_errors.map(error => "script error: " + error);
    document.documentElement.dataset.result = failed.concat(errors).join("; ") || "all as expected";
  };
  try {
    // A pointer that the browser has not made cannot be captured.
    Element.prototype.setPointerCapture = () => {};
    const { view, draw, graphs, sections } = window.bentpipe;
    const canvas = document.querySelector("canvas"), box = () => canvas.getBoundingClientRect();
    const span = () => view.to - view.from;
    const key = name => dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
    const pointer = (type, x, y, more) => {
      const r = box(), place = { clientX: r.left + x, clientY: r.top + y, pointerId: 1, bubbles: true };
      canvas.dispatchEvent(new PointerEvent(type, { ...place, ...more }));
    };
    const panels = () => sections()[0].panels;

    draw();
    const all = [view.from, view.to];
    // The wheel keeps the time below the pointer where it is.
    const p = panels()[0], x = p.box.left + p.box.width / 4, time = view.from + (x - p.box.left) / p.map.sx;
    const r = box();
    canvas.dispatchEvent(new WheelEvent("wheel", { clientX: r.left + x, clientY: r.top + 60, deltaY: -300, bubbles: true, cancelable: true }));
    draw();
    expect("the wheel zooms in", span() < 0.5 * (all[1] - all[0]));
    const after = panels()[0];
    // A wheel's place is in whole pixels.
    expect("the wheel keeps its place", Math.abs(after.map.x(time) - x) < 3);
    // All panels, and all connections side by side, have the same time.
    expect("panels move together", new Set(panels().map(q => Math.round(q.map.x(time)))).size === 1);

    const before = [view.from, view.to];
    pointer("pointerdown", 300, 60);
    pointer("pointermove", 200, 60);
    pointer("pointerup", 200, 60);
    expect("dragging moves", view.from > before[0] && Math.abs(span() - (before[1] - before[0])) < 1e-9);
    const width = span();
    pointer("pointerdown", 200, 20, { altKey: true });
    pointer("pointermove", 400, 120, { altKey: true });
    pointer("pointerup", 400, 120, { altKey: true });
    expect("a box zooms", span() < width && view.y[0] !== null);
    canvas.dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
    expect("a double click shows all", view.from === all[0] && view.to === all[1] && view.y[0] === null);

    key("+");
    expect("+ zooms in", span() < all[1] - all[0]);
    const left = view.from;
    key("ArrowRight");
    expect("the arrow moves", view.from > left);
    key("0");
    expect("0 shows all", view.from === all[0]);
    // From the beginning of it all.
    view.to = view.from + span() / 50;
    key("n");
    const first = (view.from + view.to) / 2;
    key("n");
    expect("n goes to the next retransmission", (view.from + view.to) / 2 > first);
    key("p");
    expect("p goes back", Math.abs((view.from + view.to) / 2 - first) < 1e-6);
    key("0");

    // A packet of the first graph, and what is said of it.
    draw();
    const g = graphs[0], d = g.direction;
    const i = g.len.findIndex((len, k) => len > 0 && g.dir[k] === d);
    const q = panels()[0], at = [q.map.x(g.time[i]), q.map.y(g.seq[i] + g.len[i] / 2)];
    pointer("pointermove", at[0], at[1]);
    const facts = document.getElementById("facts");
    expect("pointing tells of a packet", !facts.hidden && facts.textContent.includes("sequence"));
    expect("the cause is told", /new data: |fast |timeout|probe/.test(facts.textContent));
    pointer("pointerleave", 0, 0);
    expect("leaving hides that", facts.hidden);

    // The legend's entries show and hide.
    const entry = document.querySelector("#legend button[data-class]");
    const painted = () => sections()[0].context.getImageData(0, 0, canvas.width, canvas.height).data.join();
    draw();
    const shown = painted();
    entry.click();
    draw();
    expect("an entry of the legend hides its marks", painted() !== shown && view.off.size === 1);
    document.querySelector("#legend button[data-class]").click();
    draw();
    expect("and shows them again", painted() === shown && view.off.size === 0);

    key("s");
    draw();
    expect("s sets side by side", document.querySelectorAll("canvas").length === graphs.length);
    key("+");
    draw();
    const together = sections().every(one => one.panels.every(q => Math.abs(q.box.width / q.map.sx - span()) < 1e-9));
    expect("side by side they move together", together && span() < all[1] - all[0]);
    key("s");
    key("c");
    key("d");
    expect("d shows the other direction", view.reverse);
    key("d");
    key("w");
    key("f");
    key("0");
    draw();
  } catch (error) {
    failed.push("stopped: " + error);
  }
  finish();
})();
