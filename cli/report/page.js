"use strict";
// Every text and number comes from the data; nothing is computed here but which of them are seen, and where.
(() => {
  const { steps } = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const drawing = $("drawing"), svg = drawing.querySelector("svg");
  const pick = (kind) => new Map([...svg.querySelectorAll(`[data-${kind}]`)].map((e) => [+e.dataset[kind], e]));
  const nodes = pick("row"), edges = pick("edge");
  let now = 0;

  // --- steps ---------------------------------------------------------------------------------------------------------

  const buttons = steps.map((step, i) => {
    const button = document.createElement("button");
    button.textContent = step.lines[0] ?? step.title;
    button.addEventListener("click", () => show(i));
    const item = document.createElement("li");
    item.append(button);
    $("steps").append(item);
    return button;
  });
  $("slider").max = steps.length - 1;

  function show(step) {
    now = Math.max(0, Math.min(steps.length - 1, step));
    const values = new Set(), gradients = new Map();
    for (const one of steps.slice(0, now + 1)) {
      for (const row of one.values) values.add(row);
      for (const [row, text] of one.gradients) gradients.set(row, text);
    }
    for (const [row, node] of nodes) {
      node.classList.toggle("later", !values.has(row));
      node.classList.toggle("unsent", !gradients.has(row));
      node.classList.toggle("now", steps[now].row === row);
      const gradient = node.querySelector(".gradient");
      if (gradient && gradients.has(row)) gradient.textContent = gradients.get(row);
    }
    for (const [place, edge] of edges) edge.classList.toggle("now", steps[now].edges.includes(place));
    $("now").replaceChildren(...[steps[now].title, ...steps[now].lines].map((text) => {
      const line = document.createElement("p");
      line.textContent = text;
      return line;
    }));
    $("slider").value = now;
    $("slider").setAttribute("aria-valuetext", steps[now].title);
    $("count").textContent = `Step ${now} of ${steps.length - 1}`;
    buttons.forEach((button, i) => i === now ? button.setAttribute("aria-current", "step") : button.removeAttribute("aria-current"));
    buttons[now].scrollIntoView({ block: "nearest" });
  }

  $("slider").addEventListener("input", (event) => show(+event.target.value));
  const moves = { first: () => 0, back: () => now - 1, next: () => now + 1, last: () => steps.length - 1 };
  for (const [id, to] of Object.entries(moves)) $(id).addEventListener("click", () => show(to()));

  // --- pan and zoom --------------------------------------------------------------------------------------------------

  const whole = svg.viewBox.baseVal, full = { x: whole.x, y: whole.y, width: whole.width, height: whole.height };
  let view = { ...full };
  const look = () => svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
  const scale = () => Math.max(view.width / svg.clientWidth, view.height / svg.clientHeight);

  function zoom(factor, clientX, clientY) {
    const box = svg.getBoundingClientRect();
    const [x, y] = clientX === undefined ? [box.left + box.width / 2, box.top + box.height / 2] : [clientX, clientY];
    const at = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM().inverse());
    const width = Math.min(full.width * 4, Math.max(60, view.width * factor)), by = width / view.width;
    view = { x: at.x - (at.x - view.x) * by, y: at.y - (at.y - view.y) * by, width, height: view.height * by };
    look();
  }

  function move(dx, dy) {
    view.x += dx * scale();
    view.y += dy * scale();
    look();
  }

  const fingers = new Map();
  const spread = () => {
    const [a, b] = [...fingers.values()];
    return { distance: Math.hypot(a.x - b.x, a.y - b.y), x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
  };
  drawing.addEventListener("pointerdown", (event) => {
    drawing.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  });
  drawing.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const pinch = fingers.size === 2 ? spread() : null;
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (pinch) {
      const after = spread();
      zoom(pinch.distance / after.distance, after.x, after.y);
      move(pinch.x - after.x, pinch.y - after.y);
    } else move(before.x - event.clientX, before.y - event.clientY);
  });
  for (const end of ["pointerup", "pointercancel"]) drawing.addEventListener(end, (event) => fingers.delete(event.pointerId));
  drawing.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(1.0015 ** event.deltaY, event.clientX, event.clientY);
  }, { passive: false });
  const fit = () => { view = { ...full }; look(); };
  drawing.addEventListener("dblclick", fit);

  // --- keys ----------------------------------------------------------------------------------------------------------

  const pans = { ArrowLeft: [-40, 0], ArrowRight: [40, 0], ArrowUp: [0, -40], ArrowDown: [0, 40] };
  const keys = { ArrowRight: moves.next, ArrowLeft: moves.back, Home: moves.first, End: moves.last };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.shiftKey && pans[event.key]) move(...pans[event.key]);
    else if (keys[event.key]) show(keys[event.key]());
    else if (event.key === "+" || event.key === "=") zoom(0.8);
    else if (event.key === "-") zoom(1.25);
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
  });

  show(0);
})();
