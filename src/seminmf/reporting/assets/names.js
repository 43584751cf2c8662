// Names of groups on the map: beside their samples, on no point and no other name, with a line to the
// middle of the group.
function groupNames(data, names, drawing) {
  "use strict";
  const CELL = 4; // of the grid that knows what is taken

  // What tells a label from the others: without the words that all have at the beginning or end.
  function ownWords(labels) {
    const words = labels.map((label) => label.split(" "));
    const shared = (place) =>
      words.length > 1 &&
      words.every((list) => list.length > 1 && list.at(place) === words[0].at(place));
    while (shared(0)) words.forEach((list) => list.shift());
    while (shared(-1)) words.forEach((list) => list.pop());
    return words.map((list) => list.join(" "));
  }

  function shortened(word, most) {
    const end = Math.floor(most / 3);
    return word.length > most ? `${word.slice(0, most - 1 - end)}…${word.slice(-end)}` : word;
  }

  const labels = data.labels || [];
  const own = ownWords(labels);
  const spellings = [
    (group) => shortened(labels[group], 24),
    (group) => shortened(own[group], 24),
    (group) => shortened(own[group], 10),
  ];

  // Groups from the largest on, each with the sample in its middle.
  function groupsOf({ kind, shown, at }) {
    const members = new Map();
    for (const i of shown) {
      const group = data[kind][i];
      if (group < 0 || data.outlier[i]) continue;
      if (!members.has(group)) members.set(group, []);
      members.get(group).push(i);
    }
    const middle = (values) => values.sort((a, b) => a - b)[values.length >> 1];
    const ordered = [...members].sort((a, b) => b[1].length - a[1].length).slice(0, 40);
    return ordered.map(([group, samples]) => {
      const x = middle(samples.map((i) => at.x[i]));
      const y = middle(samples.map((i) => at.y[i]));
      const far = (i) => (at.x[i] - x) ** 2 + (at.y[i] - y) ** 2;
      const anchor = samples.reduce((best, i) => (far(i) < far(best) ? i : best));
      return { group, x: at.x[anchor], y: at.y[anchor] };
    });
  }

  // Visit cells of the grid until one says yes.
  function cells(map, [left, top, right, bottom], visit) {
    const columns = Math.ceil(map.width / CELL);
    for (let r = Math.max(0, Math.floor(top / CELL)); r * CELL < Math.min(map.height, bottom); r += 1) {
      for (let c = Math.max(0, Math.floor(left / CELL)); c * CELL < Math.min(map.width, right); c += 1) {
        if (visit(r * columns + c)) return true;
      }
    }
    return false;
  }

  // Names in one spelling, as many as there is room for.
  function placed(map, groups, spelling, taken) {
    const size = (map.unit > 1.3 ? 12 : 14.5) * map.unit; // smaller on a phone
    const high = size * 0.62;
    const found = [];
    for (const { group, x: ax, y: ay } of groups) {
      const label = drawing("text", {}, names, spelling(group));
      label.style.fontSize = `${size.toFixed(1)}px`;
      const half = label.getComputedTextLength() / 2 + 3 * map.unit;
      let place = null;
      for (let away = high + 6; away < map.height / 2 && !place; away += 9) {
        for (let k = 0; k < 24; k += 1) {
          const angle = (k * Math.PI) / 12;
          const x = ax + Math.cos(angle) * (away + half);
          const y = ay + Math.sin(angle) * away;
          const box = [x - half, y - high, x + half, y + high];
          if (box[0] < 4 || box[1] < 4 || box[2] > map.width - 4 || box[3] > map.height - 4) continue;
          if (cells(map, box, (index) => taken[index])) continue;
          place = { x, y, box };
          break;
        }
      }
      if (!place) continue;
      cells(map, place.box, (index) => { taken[index] = 1; });
      label.setAttribute("x", place.x.toFixed(1));
      label.setAttribute("y", (place.y + size * 0.35).toFixed(1));
      const [left, top, right, bottom] = place.box;
      const x = Math.min(Math.max(ax, left), right);
      const y = Math.min(Math.max(ay, top), bottom);
      const line = drawing("path", { d: `M${x.toFixed(1)} ${y.toFixed(1)}L${ax} ${ay}` }, names);
      found.push({ label, line });
    }
    return found;
  }

  // The longest spelling that leaves room for all, else that with most; a name for which there is no
  // room in it is left to the legend.
  return (map) => {
    const { at, unit } = map;
    const dots = new Uint8Array(Math.ceil(map.width / CELL) * Math.ceil(map.height / CELL));
    const dot = 4 * Math.max(1, unit / 1.3);
    for (const i of map.shown) {
      const box = [at.x[i] - dot, at.y[i] - dot, at.x[i] + dot, at.y[i] + dot];
      cells(map, box, (index) => { dots[index] = 1; });
    }
    const groups = groupsOf(map);
    let best = [];
    for (const spelling of map.kind === "cluster" ? [String] : spellings) {
      const found = placed(map, groups, spelling, dots.slice());
      if (found.length > best.length) best = found;
      if (best.length === groups.length) break;
    }
    names.replaceChildren(...best.map(({ line }) => line), ...best.map(({ label }) => label));
  };
}
