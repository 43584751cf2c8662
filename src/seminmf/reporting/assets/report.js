// What a page without scripts cannot do: tooltips of the map, by mouse, touch and keyboard; zoom and
// pan, names beside the groups, the other layout; the legend that picks out one group; light or dark.
(() => {
  "use strict";
  const byId = (name) => document.getElementById(name);

  // Light or dark.
  const root = document.documentElement;
  const theme = byId("theme");
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (prefersDark.matches ? "dark" : "light")) === "dark";
  const nameTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.hidden = false;
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
  });
  prefersDark.addEventListener("change", nameTheme);
  nameTheme();

  // The map.
  const data = JSON.parse(byId("samples").textContent);
  const figure = byId("map-figure");
  const stage = byId("stage");
  const svg = byId("map");
  const tip = byId("tip");
  const cursor = byId("cursor");
  const spoken = byId("spoken");
  const names = byId("names");
  const marks = [...byId("points").children];
  const count = marks.length;
  const { width: WIDTH, height: LOW } = svg.viewBox.baseVal;
  const frame = svg.querySelector(".frame");
  let HEIGHT = LOW;
  const reach = 28; // how near, in pixels, the pointer has to be
  const turns = marks.map((mark) => (mark.getAttribute("transform").match(/ rotate.*/) || [""])[0]);
  const layouts = { codes: data, neighbours: data.neighbours };
  let layout = layouts.codes;
  // What is seen of the map: it is larger by a factor, and its left upper corner is moved.
  let view = { scale: 1, x: 0, y: 0 };
  const at = { x: new Float64Array(count), y: new Float64Array(count) };
  let current = -1;
  let sheet = null;
  if (data.pictures) {
    sheet = new Image();
    sheet.src = data.pictures.address;
  }
  stage.tabIndex = 0;
  stage.setAttribute("role", "application");
  stage.setAttribute("aria-label", svg.getAttribute("aria-label"));
  byId("layouts").hidden = byId("zoom").hidden = false;

  const show = (value) => (value === null ? "–" : String(value).replace("-", "−"));
  const visible = (i) =>
    !marks[i].classList.contains("faded") &&
    at.x[i] >= 0 && at.x[i] <= WIDTH && at.y[i] >= 0 && at.y[i] <= HEIGHT;

  function element(name, content, parent) {
    const made = document.createElement(name);
    if (content !== undefined) made.textContent = content;
    if (parent) parent.append(made);
    return made;
  }

  function drawing(name, attributes, parent, content) {
    const made = document.createElementNS(svg.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (content !== undefined) made.textContent = content;
    parent.append(made);
    return made;
  }

  const nameGroups = groupNames(data, names, drawing);

  // Put every mark where it is in the present view.
  function draw() {
    for (let i = 0; i < count; i += 1) {
      at.x[i] = (layout.x[i] - view.x) * view.scale;
      at.y[i] = ((layout.y[i] * HEIGHT) / LOW - view.y) * view.scale;
      const turn = layout === data ? turns[i] : "";
      // By neighbours nothing is beyond the frame that is so by codes.
      if (turns[i]) marks[i].setAttribute("href", turn ? "#far" : data.outlier[i] ? "#cross" : "#dot");
      marks[i].setAttribute("transform", `translate(${at.x[i].toFixed(1)} ${at.y[i].toFixed(1)})${turn}`);
    }
    stage.classList.toggle("zoomed", view.scale > 1);
  }

  function look(scale, x, y) {
    const bounded = Math.min(40, Math.max(1, scale));
    view = {
      scale: bounded,
      x: Math.min(Math.max(0, x), WIDTH - WIDTH / bounded),
      y: Math.min(Math.max(0, y), HEIGHT - HEIGHT / bounded),
    };
    select(-1, false);
    draw();
    names.replaceChildren(); // until the map has come to rest
    clearTimeout(look.later);
    look.later = setTimeout(placeNames, 60);
  }

  // A larger or smaller scale; the point (x, y) of the drawing stays where it is.
  function zoom(factor, x = WIDTH / 2, y = HEIGHT / 2) {
    const scale = Math.min(40, Math.max(1, view.scale * factor));
    look(scale, view.x + x / view.scale - x / scale, view.y + y / view.scale - y / scale);
  }

  function placeNames() {
    names.replaceChildren();
    const kind = figure.querySelector("input[name=by]:checked").value;
    if (kind === "score") return;
    const shown = [...marks.keys()].filter(visible);
    nameGroups({ kind, shown, at, width: WIDTH, height: HEIGHT, unit: WIDTH / svg.clientWidth });
  }

  function facts(i) {
    const rows = [["cluster", String(data.cluster[i])]];
    if (data.label) rows.push(["label", data.label[i] < 0 ? "none" : data.labels[data.label[i]]]);
    let score = show(data.score[i]);
    if (data.median > 0 && data.score[i] !== null) {
      score += ` (${(data.score[i] / data.median).toPrecision(2)} × median)`;
    }
    rows.push(["outlier score", score]);
    if (data.outlier[i]) rows.push(["outlier", "yes"]);
    return rows;
  }

  function fill(i) {
    tip.replaceChildren();
    element("bdi", data.id[i], element("strong", undefined, tip));
    if (sheet && sheet.complete) {
      const { columns, width, height } = data.pictures;
      const canvas = element("canvas", undefined, tip);
      canvas.width = width;
      canvas.height = height;
      const left = (i % columns) * width;
      const top = Math.floor(i / columns) * height;
      canvas.getContext("2d").drawImage(sheet, left, top, width, height, 0, 0, width, height);
    }
    const list = element("dl", undefined, tip);
    for (const [name, value] of facts(i)) {
      element("dt", name, list);
      element("bdi", value, element("dd", undefined, list));
    }
    data.parts[i].forEach((part, place) => {
      const code = data.codes[i][place];
      if (!(code > 0)) return;
      element("dt", `part ${part}`, list);
      const cell = element("dd", undefined, list);
      const bar = element("span", undefined, cell);
      bar.className = "amount";
      bar.style.width = `${Math.max(2, (60 * code) / (data.codes[i][0] || 1)).toFixed(1)}px`;
      cell.append(show(code));
    });
  }

  function select(i, speak) {
    if (i === current) return;
    current = i;
    if (i < 0) {
      tip.hidden = true;
      cursor.style.display = "none";
      return;
    }
    fill(i);
    tip.hidden = false;
    cursor.style.display = "inline";
    cursor.setAttribute("cx", at.x[i]);
    cursor.setAttribute("cy", at.y[i]);
    const scale = svg.clientWidth / WIDTH;
    const x = at.x[i] * scale;
    const y = at.y[i] * scale;
    const right = x + 16 + tip.offsetWidth > stage.clientWidth;
    const left = right ? x - 16 - tip.offsetWidth : x + 16;
    const highest = Math.max(0, stage.clientHeight - tip.offsetHeight);
    tip.style.left = `${Math.min(Math.max(0, left), stage.clientWidth - tip.offsetWidth)}px`;
    tip.style.top = `${left < 0 ? y + 18 : Math.min(Math.max(0, y - 20), highest)}px`;
    if (speak) {
      const words = facts(i).map(([name, value]) => `${name} ${value}`);
      spoken.textContent = `Sample ${data.id[i]}: ${words.join(", ")}`;
    }
  }

  // Where an event is, in units of the drawing.
  function inside(event) {
    const box = svg.getBoundingClientRect();
    const scale = WIDTH / box.width;
    return { x: (event.clientX - box.left) * scale, y: (event.clientY - box.top) * scale, scale };
  }

  function nearest(event) {
    const { x, y, scale } = inside(event);
    let best = -1;
    let least = (reach * scale) ** 2;
    for (let i = 0; i < count; i += 1) {
      const away = (at.x[i] - x) ** 2 + (at.y[i] - y) ** 2;
      if (away < least && visible(i)) {
        least = away;
        best = i;
      }
    }
    return best;
  }

  // Fingers and pressed mice: one moves the map where it is larger than its frame, two pull at it.
  const held = new Map();
  let moved = false;
  stage.addEventListener("pointerdown", (event) => {
    if (!held.size) moved = false;
    held.set(event.pointerId, inside(event));
  });
  stage.addEventListener("pointermove", (event) => {
    const before = held.get(event.pointerId);
    if (!before) {
      if (event.pointerType !== "touch") select(nearest(event), false);
      return;
    }
    const now = inside(event);
    if (!moved && Math.hypot(now.x - before.x, now.y - before.y) < 4 * now.scale) return;
    if (!moved && event.pointerType === "mouse") stage.setPointerCapture(event.pointerId);
    moved = true;
    held.set(event.pointerId, now);
    const other = [...held].find(([id]) => id !== event.pointerId);
    if (other) {
      const gap = (p) => Math.max(1, Math.hypot(p.x - other[1].x, p.y - other[1].y));
      zoom(gap(now) / gap(before), other[1].x, other[1].y);
    } else {
      look(view.scale, view.x - (now.x - before.x) / view.scale, view.y - (now.y - before.y) / view.scale);
    }
  });
  for (const kind of ["pointerup", "pointercancel"]) {
    addEventListener(kind, (event) => held.delete(event.pointerId));
  }
  stage.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") select(-1, false);
  });
  stage.addEventListener("click", (event) => {
    if (!moved) select(nearest(event), true);
  });
  stage.addEventListener("dblclick", (event) => zoom(2, inside(event).x, inside(event).y));
  stage.addEventListener("wheel", (event) => {
    // A wheel alone scrolls the page; with Ctrl, or two fingers on a pad, it zooms.
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 200), inside(event).x, inside(event).y);
  }, { passive: false });
  stage.addEventListener("blur", () => select(-1, false));
  byId("zoom-in").addEventListener("click", () => zoom(1.6));
  byId("zoom-out").addEventListener("click", () => zoom(1 / 1.6));
  byId("zoom-whole").addEventListener("click", () => look(1, 0, 0));

  const directions = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  // The sample that lies most straight ahead and near.
  function ahead([dx, dy]) {
    let best = current;
    let least = Infinity;
    for (let i = 0; i < count; i += 1) {
      const x = at.x[i] - at.x[current];
      const y = at.y[i] - at.y[current];
      const along = x * dx + y * dy;
      if (along <= 0.05 || !visible(i)) continue;
      const cost = along + 2.5 * Math.abs(x * dy - y * dx);
      if (cost < least) {
        least = cost;
        best = i;
      }
    }
    return best;
  }

  const scales = { "+": 1.6, "=": 1.6, "-": 1 / 1.6, 0: 0 };
  stage.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    let next;
    if (event.key in scales) {
      if (scales[event.key]) zoom(scales[event.key]);
      else look(1, 0, 0);
      next = -1;
    } else if (event.key === "Escape") next = -1;
    else if (event.key === "Home") next = data.home;
    else if (event.key === "End") next = data.end;
    else if (!directions[event.key]) return;
    else next = current < 0 ? data.home : ahead(directions[event.key]);
    event.preventDefault();
    if (next >= 0 && !visible(next)) look(1, 0, 0);
    select(next, true);
  });

  // Legends: one group at a time stands out.
  const buttons = [...figure.querySelectorAll(".legend button")];
  function pick(button) {
    for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
    const values = button ? data[button.dataset.kind] : null;
    const wanted = button ? Number(button.dataset.value) : 0;
    for (let i = 0; i < count; i += 1) {
      marks[i].classList.toggle("faded", values !== null && values[i] !== wanted);
    }
    select(-1, false);
    placeNames();
  }
  for (const button of buttons) {
    button.addEventListener("click", () => {
      pick(button.getAttribute("aria-pressed") === "true" ? null : button);
    });
  }
  for (const radio of figure.querySelectorAll("input[name=by]")) {
    radio.addEventListener("change", () => pick(null));
  }
  for (const radio of figure.querySelectorAll("input[name=layout]")) {
    radio.addEventListener("change", () => {
      layout = layouts[radio.value];
      look(1, 0, 0);
    });
  }
  // On a phone the map is taller than wide: there is more room for names, and dots only part.
  function fit() {
    const height = svg.clientWidth < 480 ? Math.round(1.2 * WIDTH) : LOW;
    if (height === HEIGHT) return placeNames();
    HEIGHT = height;
    svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    frame.setAttribute("height", HEIGHT - 2);
    look(1, 0, 0);
  }

  addEventListener("resize", fit);
  draw();
  fit();
})();
