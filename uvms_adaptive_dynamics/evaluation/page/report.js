"use strict";
// Plots of the report: reads series from the page, draws one uPlot for each `.plot` once unfolded.
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const PAPER = 690;                       // [px] width of an A4 page within its margins
const charts = new Map();                // element -> uPlot
let zoom = null;                         // [from, to] in s, or null for all
let paper = false;

const unpacked = new Map();
function series(text) {                  // base64 of float32 -> array with null for gaps
  if (!unpacked.has(text)) {
    const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    unpacked.set(text, Array.from(new Float32Array(bytes.buffer), v => Number.isNaN(v) ? null : v));
  }
  return unpacked.get(text);
}
const combined = (a, b, f) => a.map((v, i) => v === null || b[i] === null ? null : f(v, b[i]));
const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const figure = v => v === null || v === undefined ? "–" : Number(v.toPrecision(4)).toString();
const escaped = text => { const p = document.createElement("p"); p.textContent = text; return p.innerHTML; };

// --- shared by all plots -------------------------------------------------------------------------

function extent(u, values, low, high) {  // [least, most] of the values between two indices
  let least = Infinity, most = -Infinity;
  for (let i = low; i <= high; i++) {
    const v = values[i];
    if (v !== null && v !== undefined) { if (v < least) least = v; if (v > most) most = v; }
  }
  return [least, most];
}
function middle(values, low, high) {     // [least, most] of the values without their outer 2 %
  const sorted = values.slice(low, high + 1).filter(v => v !== null).sort((a, b) => a - b);
  const at = share => sorted[Math.round(share * (sorted.length - 1))];
  return sorted.length ? [at(.02), at(.98)] : [Infinity, -Infinity];
}
function padded(least, most, share) {
  if (!(least <= most)) return [0, 1];
  const margin = share * (most - least) || Math.abs(most) * .1 || 1;
  return [least - margin, most + margin];
}
function visible(u) {                    // first and last visible index
  const t = u.data[0], [min, max] = zoom || [-Infinity, Infinity];
  let low = 0, high = t.length - 1;
  while (low < high && t[low] < min) low++;
  while (high > low && t[high] > max) high--;
  return [low, high];
}
function whole(u) {
  const t = u.data[0], first = t.length ? t[0] : 0, last = t.length ? t[t.length - 1] : 1;
  return [first, last > first ? last : first + 1];
}
function zoomTo(range) {                 // in every plot
  zoom = range;
  for (const u of charts.values()) {
    const [min, max] = zoom || whole(u);
    u.setScale("x", {min, max});
  }
}
function powers(u, axis, least, most) {  // of ten: ticks of a logarithmic axis
  const found = [];
  for (let k = Math.ceil(Math.log10(least)); k <= Math.log10(most); k++) found.push(10 ** k);
  const step = Math.ceil(found.length / 4);
  return found.filter((v, i) => i % step === 0);
}
function axes(small, log) {
  const style = {stroke: () => colour("soft"), font: "11px system-ui, sans-serif",
                 grid: {stroke: () => colour("line"), width: 1}, ticks: {show: false}};
  return [{...style, space: small ? 45 : 70, size: 22, gap: 3, values: (u, at) => at.map(v => v + (small ? "" : " s"))},
          {...style, space: small ? 26 : 30, size: small ? 46 : 52, gap: 4, values: (u, at) => at.map(figure),
           ...(log ? {splits: powers, filter: (u, at) => at} : {})}];
}
function options(box, {small, head, range, lines, bands, ground, above, readout, log}) {
  return {
    width: widthOf(box), height: small ? 122 : 150, legend: {show: false}, padding: [6, 8, 0, 0],
    scales: {x: {time: false, range: u => zoom || whole(u)},
             y: {distr: log ? 3 : 1, range}},
    axes: axes(small, log),
    series: [{}, ...lines], bands: bands || [],
    cursor: {y: false, points: {show: true, size: 6}, drag: {x: true, y: false, setScale: false},
             sync: {key: "time", setSeries: false, filters: {pub: type => type === "mousemove" || type === "mouseleave"}},
             bind: {dblclick: () => () => { zoomTo(null); return null; }}},
    hooks: {
      drawClear: ground ? [ground] : [], draw: above ? [above] : [],
      setSelect: [u => {
        if (u.select.width > 3) {
          const range = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")];
          u.setSelect({left: 0, width: 0, top: 0, height: 0}, false);
          zoomTo(range);
        }
      }],
      setCursor: [u => { head.innerHTML = readout(u.cursor.left >= 0 ? u.cursor.idx : null); }],
    },
  };
}
const stroke = (name, width, more) => ({stroke: () => colour(name), width, points: {show: false}, spanGaps: false, ...more});
const edge = {stroke: "transparent", width: 0, points: {show: false}};
function rule(u, value, horizontal, name, dash) {
  const {left, top, width, height} = u.bbox, at = Math.round(u.valToPos(value, horizontal ? "y" : "x", true));
  if (horizontal ? at < top || at > top + height : at < left || at > left + width) return;
  u.ctx.save();
  u.ctx.strokeStyle = colour(name); u.ctx.lineWidth = devicePixelRatio * 1.2;
  u.ctx.setLineDash(dash.map(d => d * devicePixelRatio));
  u.ctx.beginPath();
  if (horizontal) { u.ctx.moveTo(left, at); u.ctx.lineTo(left + width, at); }
  else { u.ctx.moveTo(at, top); u.ctx.lineTo(at, top + height); }
  u.ctx.stroke(); u.ctx.restore();
}

// --- kinds of plots ------------------------------------------------------------------------------

function channel(box, head, key) {
  const c = data.channels.each[key], t = series(data.channels.t);
  const measured = series(c.measured), predicted = series(c.predicted), half = series(c.half);
  const name = `<b>${escaped(c.name)}</b><span>${escaped(c.unit)}</span>`;
  if (measured.every(v => v === null)) {
    const why = [...new Set(c.masked.flatMap(span => span[2].split(", ")))].join(", ");
    return blank(box, head, name, "every row is masked: " + (why || "reason unknown"));
  }
  const low = combined(predicted, half, (p, h) => p - h), high = combined(predicted, half, (p, h) => p + h);
  const reason = s => (c.masked.find(([begin, end]) => s >= begin && s <= end) || [])[2];
  const near = (u, s) => data.marks.find(m => Math.abs(u.valToPos(m.t, "x") - u.valToPos(s, "x")) < 4);
  return [[t, measured, high, low, predicted], {
    range: u => {
      const [a, b] = visible(u), m = extent(u, measured, a, b), p = middle(predicted, a, b);
      return padded(Math.min(m[0], p[0]), Math.max(m[1], p[1]), .15);
    },
    lines: [stroke("measured", 2.2), edge, edge, stroke("model", 1.2)],
    bands: [{series: [2, 3], fill: () => colour("band")}],
    ground: u => {
      u.ctx.save(); u.ctx.fillStyle = colour("masked");
      for (const [begin, end] of c.masked) {
        const a = Math.max(u.valToPos(begin, "x", true), u.bbox.left);
        const b = Math.min(u.valToPos(end, "x", true), u.bbox.left + u.bbox.width);
        if (b >= a) u.ctx.fillRect(a, u.bbox.top, Math.max(b - a, devicePixelRatio), u.bbox.height);
      }
      u.ctx.restore();
    },
    above: u => { for (const m of data.marks) rule(u, m.t, false, "mark", [5, 4]); },
    readout: i => {
      if (i === null || i === undefined) return name;
      const why = reason(t[i]), what = near(charts.get(box), t[i]);
      return `${name}<span>${t[i].toFixed(2)} s</span>` +
        (why ? `<span class="why">masked: ${escaped(why)}</span>`
             : `<span>measured ${figure(measured[i])}</span><span>predicted ${figure(predicted[i])} ± ${figure(half[i])}</span>`) +
        (what ? `<span class="what">${escaped(what.text)}</span>` : "");
    },
  }];
}

function parameter(box, head, key) {
  const p = data.parameters.each[key], t = series(data.parameters.t);
  const value = series(p.value), low = series(p.low), high = series(p.high);
  const name = `<span><b>${escaped(p.label)}</b> ${escaped(p.unit)}</span>`;
  const last = value.length - 1;
  return [[t, high, low, value], {
    small: true,
    range: u => {
      const [a, b] = visible(u), m = extent(u, value, a, b), end = Math.min(b, last);
      return padded(Math.min(m[0], p.prior, 1.2 * low[end] - .2 * value[end]),
                    Math.max(m[1], p.prior, 1.2 * high[end] - .2 * value[end]), .08);
    },
    lines: [edge, edge, stroke("model", 1.4)],
    bands: [{series: [1, 2], fill: () => colour("band")}],
    above: u => rule(u, p.prior, true, "prior", [5, 4]),
    readout: i => i === null || i === undefined
      ? `${name}<span class="word ${p.known}">${escaped(p.known)}</span>`
      : `${name}<span>${figure(value[i])} (${figure(low[i])} … ${figure(high[i])})</span>`,
  }];
}

function eigenvalue(box, head, key) {
  const e = data.eigenvalues.each[key], all = e.values.map(series);
  const name = `<b>${escaped(e.title)}</b>`;
  return [[series(data.eigenvalues.t), ...all], {
    small: true, log: true,
    range: u => {
      const [a, b] = visible(u);
      let [least, most] = [data.eigenvalues.margin || Infinity, -Infinity];
      for (const values of all) {
        const [l, m] = extent(u, values, a, b);
        if (l > 0 && l < least) least = l;
        if (m > most) most = m;
      }
      return most > 0 && least <= most ? [least / 1.6, most * 1.6] : [1e-3, 1];
    },
    lines: all.map(() => stroke("model", 1.3)),
    above: u => { if (data.eigenvalues.margin > 0) rule(u, data.eigenvalues.margin, true, "ink", [2, 3]); },
    readout: i => i === null || i === undefined ? name
      : `${name}<span>least ${figure(Math.min(...all.map(v => v[i]).filter(v => v !== null)))}</span>`,
  }];
}

function solve(box, head) {
  const s = data.solve, t = series(s.t), ms = series(s.ms), above = ms.filter(v => v > s.top).length;
  const name = `<b>solve</b><span>median ${figure(s.median)} ms, 99 % ${figure(s.p99)} ms` +
    (above ? `, ${above} above the axis</span>` : "</span>");
  return [[t, ms], {
    range: () => [0, s.top],
    lines: [{stroke: null, paths: () => null, points: {show: true, size: 2.4, width: 0, fill: () => colour("model")}}],
    above: u => { rule(u, s.median, true, "prior", [5, 4]); rule(u, s.p99, true, "prior", [5, 4]); },
    readout: i => i === null || i === undefined ? name
      : `<b>solve</b><span>${t[i].toFixed(2)} s</span><span>${figure(ms[i])} ms</span>`,
  }];
}

function blank(box, head, name, sentence) {
  head.innerHTML = name;
  box.classList.add("blank");
  box.append(Object.assign(document.createElement("p"), {textContent: sentence}));
  return null;
}

// --- when to draw --------------------------------------------------------------------------------

const KINDS = {channel, parameter, eigenvalue, solve};
const widthOf = box => {
  if (!paper) return Math.max(120, box.clientWidth);
  return box.parentElement.classList.contains("grid") ? (PAPER - 40) / 3 : PAPER;
};
function draw(box) {
  if (box.dataset.drawn) return;
  box.dataset.drawn = "yes";
  const head = box.appendChild(Object.assign(document.createElement("div"), {className: "head"}));
  const made = KINDS[box.dataset.kind](box, head, box.dataset.key);
  if (made) {
    head.innerHTML = made[1].readout(null);
    charts.set(box, new uPlot(options(box, {...made[1], head}), made[0], box));
  }
}
if (data.eigenvalues) {
  const grid = document.getElementById("eigenvalues");
  data.eigenvalues.each.forEach((e, k) => {
    const box = grid.appendChild(Object.assign(document.createElement("div"), {className: "plot small"}));
    box.dataset.kind = "eigenvalue"; box.dataset.key = k;
  });
}
const boxes = [...document.querySelectorAll(".plot")];
const drawUnfolded = () => boxes.filter(box => box.clientWidth).forEach(draw);
drawUnfolded();

const resize = () => charts.forEach((u, box) => { if (widthOf(box) !== u.width && (paper || box.clientWidth)) u.setSize({width: widthOf(box), height: u.height}); });
const redraw = () => charts.forEach(u => u.redraw(false));
addEventListener("resize", resize);
document.addEventListener("toggle", () => { drawUnfolded(); resize(); }, true);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

const closed = [];
addEventListener("beforeprint", () => {  // on paper everything is open, drawn and light
  if (paper) return;
  paper = true;
  document.documentElement.dataset.paper = "yes";
  document.querySelectorAll("details:not([open])").forEach(d => { closed.push(d); d.open = true; });
  boxes.forEach(draw);
  resize();
  redraw();
});
addEventListener("afterprint", () => {
  paper = false;
  delete document.documentElement.dataset.paper;
  closed.splice(0).forEach(d => { d.open = false; });
  resize();
  redraw();
});
})();
