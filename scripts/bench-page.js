// Five seconds of zooming and panning, an event for each frame, through the page's own handlers. Tells the time between frames.
"use strict";
addEventListener("load", () => {
  const { view, graphs } = window.bentpipe;
  const canvas = document.querySelector("canvas"), box = canvas.getBoundingClientRect();
  const packets = graphs.reduce((sum, g) => sum + g.n, 0);
  const wheel = (x, delta) => canvas.dispatchEvent(new WheelEvent("wheel", { clientX: box.left + x, clientY: box.top + 100, deltaY: delta, bubbles: true, cancelable: true }));
  const key = name => dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
  const frames = [], LENGTH = 5000;
  let begin = null, last = null;
  // In 1 s pieces: zoom in, to and fro, zoom out, zoom in elsewhere, to and fro over many packets.
  const act = at => {
    const piece = Math.floor(at / 1000);
    if (piece === 0) wheel(0.6 * box.width, -40);
    else if (piece === 1) key(at % 500 < 250 ? "ArrowRight" : "ArrowLeft");
    else if (piece === 2) wheel(0.4 * box.width, 40);
    else if (piece === 3) wheel(0.3 * box.width, at % 1000 < 500 ? -20 : 20);
    else key(at % 500 < 250 ? "ArrowLeft" : "ArrowRight");
  };
  const frame = now => {
    if (begin === null) begin = now; else frames.push(now - last);
    last = now;
    if (now - begin < LENGTH) { act(now - begin); requestAnimationFrame(frame); return; }
    frames.sort((a, b) => a - b);
    const share = p => frames[Math.min(frames.length - 1, Math.floor(p * frames.length))].toFixed(1);
    const ready = performance.getEntriesByType("navigation")[0].loadEventEnd.toFixed(0);
    console.log("page: " + packets + " packets, open in " + ready + " ms; " + frames.length + " frames in 5 s of pan and zoom at " + innerWidth + "x" + innerHeight + ": median " + share(0.5) + " ms, p95 " + share(0.95) + " ms");
  };
  setTimeout(() => requestAnimationFrame(frame), 500);
});
