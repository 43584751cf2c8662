// What a page without scripts cannot do: tooltips of the map, by mouse, touch and keyboard; the
// legend that picks out one group; the choice of light or dark.
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
  const marks = byId("points").children;
  const count = data.x.length;
  const reach = 28; // how near, in pixels, the pointer has to be
  let current = -1;
  let sheet = null;
  if (data.pictures) {
    sheet = new Image();
    sheet.src = data.pictures.address;
  }
  stage.tabIndex = 0;
  stage.setAttribute("role", "application");
  stage.setAttribute("aria-label", svg.getAttribute("aria-label"));

  const show = (value) => (value === null ? "–" : String(value).replace("-", "−"));
  const visible = (i) => !marks[i].classList.contains("faded");

  function element(name, content, parent) {
    const made = document.createElement(name);
    if (content !== undefined) made.textContent = content;
    if (parent) parent.append(made);
    return made;
  }

  function facts(i) {
    const rows = [["cluster", String(data.cluster[i])]];
    if (data.label) rows.push(["label", data.labels[data.label[i]]]);
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
    cursor.setAttribute("cx", data.x[i]);
    cursor.setAttribute("cy", data.y[i]);
    const scale = svg.clientWidth / svg.viewBox.baseVal.width;
    const x = data.x[i] * scale;
    const y = data.y[i] * scale;
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

  function nearest(event) {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * scale;
    const y = (event.clientY - box.top) * scale;
    let best = -1;
    let least = (reach * scale) ** 2;
    for (let i = 0; i < count; i += 1) {
      const away = (data.x[i] - x) ** 2 + (data.y[i] - y) ** 2;
      if (away < least && visible(i)) {
        least = away;
        best = i;
      }
    }
    return best;
  }

  stage.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "touch") select(nearest(event), false);
  });
  stage.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") select(-1, false);
  });
  stage.addEventListener("click", (event) => select(nearest(event), true));
  stage.addEventListener("blur", () => select(-1, false));

  const directions = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  // The sample that lies most straight ahead and near.
  function ahead([dx, dy]) {
    let best = current;
    let least = Infinity;
    for (let i = 0; i < count; i += 1) {
      const x = data.x[i] - data.x[current];
      const y = data.y[i] - data.y[current];
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

  stage.addEventListener("keydown", (event) => {
    let next;
    if (event.key === "Escape") next = -1;
    else if (event.key === "Home") next = data.home;
    else if (event.key === "End") next = data.end;
    else if (!directions[event.key]) return;
    else next = current < 0 ? data.home : ahead(directions[event.key]);
    event.preventDefault();
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
  }
  for (const button of buttons) {
    button.addEventListener("click", () => {
      pick(button.getAttribute("aria-pressed") === "true" ? null : button);
    });
  }
  for (const radio of figure.querySelectorAll("input[name=colour]")) {
    radio.addEventListener("change", () => pick(null));
  }
})();
