"use strict";
// Draws the timeline held in #data. Only what lies in the visible window is in the DOM, found by
// bisection; neighbours too small to tell apart are one shape. Every shape carries data-what and
// data-id, and all mouse work is delegated to the plot.
async function unpacked(element) {
  if (!element.dataset.packed) return JSON.parse(element.textContent);
  const bytes = Uint8Array.from(atob(element.textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
// Columns of differences become objects again.
function expanded(D) {
  const t = D.ops;
  let issue = 0;
  D.ops = t.kind.map((kind, i) => {
    const base = t.kinds[kind], start = (issue += t.issue[i]) + t.start[i], end = start + t.end[i];
    return { ...base, place: { ...base.place, iteration: t.iteration[i] }, row: t.row[i], issue,
      issued: issue + t.issued[i], start, end, done: end + t.done[i] };
  });
  let src = 0;
  D.links = D.links.src.map((step, i) => {
    src += step;
    return { src, dst: src + D.links.dst[i], via: D.links.vias[D.links.via[i]] };
  });
  for (const band of D.bands)
    for (const lane of [band.issue, ...band.lanes]) {
      const issues = lane === band.issue;
      let op = 0;
      lane.bars = lane.ops.map((step, i) => {
        const o = D.ops[(op += step)];
        return issues ? [op, o.issue, o.issued, o.issued, 0]
          : [op, o.start, o.end, Math.max(o.end, o.done), lane.tracks > 1 ? lane.track[i] : 0];
      });
    }
  return D;
}
const start = (D) => {
  const RIGHT = 14, PHASE = 14, LANE = 18, TRACK = 8, GAP = 3, BAND = 16, TOP = 44;
  const MANY = 600; // marks and arrows beyond this number are left out until one zooms in
  let LEFT = 178;
  const plot = document.getElementById("plot"), tip = document.getElementById("tip");
  const detail = document.getElementById("detail");
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  plot.appendChild(svg);
  const state = { t0: 0, t1: Math.max(1, D.cycles), all: false, hands: false, selected: null,
    range: null, measuring: false, matches: [], matched: new Set(), hit: -1, left: 0 };
  const esc = (s) => String(s).replace(/[&<>"]/g, (c) =>
    ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
  const linksOf = new Map();
  D.links.forEach((l, i) => {
    for (const op of [l.src, l.dst]) { if (!linksOf.has(op)) linksOf.set(op, []); linksOf.get(op).push(i); }
  });

  // --- words --------------------------------------------------------------------------------
  const place = (p) => `${p.label} (${p.phase} ${p.index}` +
    (p.iteration === null ? ")" : `, iteration ${p.iteration})`);
  const opText = (o) => `${place(o.place)} of ${D.rows[o.row].name}\n${o.word} on ${o.unit}\n` +
    `issued ${o.issue}..${o.issued}, unit held ${o.start}..${o.end}, result at ${o.done}` +
    (o.queue ? `\ntakes ${o.count} units of ${o.queue}` : "") +
    o.detail.map(([k, v]) => `\n${k}: ${v}`).join("") +
    (D.codes[o.place.label] ? `\nin the code: ${D.codes[o.place.label]}` : "") +
    (D.lines[o.place.label] ? `\nwritten at ${D.lines[o.place.label]}` : "") + reason(o.place, o.row);
  const stallText = (s) =>
    `${place(s.place)} of ${D.rows[s.row].name}\nstalls ${s.end - s.start} cycles, ` +
    `${s.start}..${s.end}\nbecause ${s.text}${reason(s.place, s.row)}` +
    (s.ahead ? "\nthe ring is full: copies are as far ahead as it allows, which costs nothing by itself" : "");
  const reason = (p, row) => {
    const program = D.rows[row].program;
    const why = D.reasons[`${program ? program + "." : ""}${p.phase} ${p.index}`];
    return why ? `\nwhy it is there: ${why}` : "";
  };
  const waitText = (w) => w.text + reason(w.place, w.row);
  const barrierText = (b) => `barrier ${b.ordinal} (${b.name}), released at ${b.release}\n` +
    b.arrivals.map(([r, t]) => `${D.rows[r].name} came at ${t}`).join("\n");
  const slotText = (s) => `${s.slot}${s.content ? " with " + s.content : ""}\nfilled from ${s.start}` +
    `, complete at ${s.ready}\n` +
    (s.readers.length ? `read ${s.readers.length} times until ${s.end}` : "never read");
  const measuredText = (id) => {
    const [row, i] = [Math.floor(id / 1e6), id % 1e6], [label, start, end, turn] = D.measured[row][i];
    return `${label}, measured on the GPU\nstamped iteration ${turn} of ${D.rows[row].name}\n` +
      `${end - start} cycles, shifted to ${start}..${end}`;
  };
  const linkText = (l) => `${place(D.ops[l.dst].place)} reads ${l.via} written by ` +
    place(D.ops[l.src].place);
  const texts = {
    op: (i) => opText(D.ops[i]), stall: (i) => stallText(D.stalls[i]),
    barrier: (i) => barrierText(D.barriers[i]), slot: (i) => slotText(D.slots[i]),
    link: (i) => linkText(D.links[i]), wait: (i) => waitText(D.waits[i]), cause: (i) => stallText(D.stalls[i]),
    measured: measuredText,
  };

  // --- layout -------------------------------------------------------------------------------
  const width = () => Math.max(280, plot.clientWidth);
  // Things in order of their start, with the latest end so far: what is visible is a slice.
  const indexed = (items, from, to) => {
    const order = [...items].sort((a, b) => from(a) - from(b));
    let most = -Infinity;
    return { order, starts: order.map(from), ends: order.map((o) => (most = Math.max(most, to(o)))) };
  };
  const bisect = (list, value) => {
    let lo = 0, hi = list.length;
    while (lo < hi) { const mid = (lo + hi) >> 1; if (list[mid] < value) lo = mid + 1; else hi = mid; }
    return lo;
  };
  const inWindow = (index) =>
    index.order.slice(bisect(index.ends, state.t0), bisect(index.starts, state.t1 + 1e-9));
  for (const band of D.bands) {
    for (const lane of [band.issue, ...band.lanes]) lane.index = indexed(lane.bars, (b) => b[1], (b) => b[3]);
    band.stallIndex = indexed(band.stalls, (i) => D.stalls[i].start, (i) => D.stalls[i].end);
    band.waitIndex = indexed(band.waits, (i) => D.waits[i].start, (i) => D.waits[i].start);
    band.spanIndex = indexed(band.spans.map((s, i) => [...s, i]), (s) => s[2], (s) => s[3]);
    const mine = D.barriers.map((_, i) => i).filter((i) => D.barriers[i].arrivals.some(([r]) => r === band.row));
    band.barrierIndex = indexed(mine, (i) => D.barriers[i].release, (i) => D.barriers[i].release);
  }
  for (const line of D.slotLines)
    line.index = indexed(line.lives, (i) => D.slots[i].start, (i) => D.slots[i].end);
  const x = (t) => LEFT + ((t - state.t0) / (state.t1 - state.t0)) * (width() - LEFT - RIGHT);
  const cx = (t) => Math.min(width() - RIGHT, Math.max(LEFT, x(t)));
  const seen = (a, b) => b >= state.t0 && a <= state.t1;
  const shownBands = () => D.bands.filter((b) => state.all || b.representative);
  const opPlace = new Map(); // op -> {y, height} of its bar on the unit lane
  const rowTop = new Map();

  function nice(least) {
    for (let power = 1; ; power *= 10)
      for (const f of [1, 2, 5]) if (f * power >= least) return f * power;
  }

  const rect = (x0, y, x1, h, css, what, id, fill) =>
    `<rect x="${x0.toFixed(1)}" y="${y}" width="${Math.max(0.8, x1 - x0).toFixed(1)}" ` +
    `height="${h}" class="${css}" data-what="${what}" data-id="${id}" fill="${fill}"/>`;

  function chosen(what, id) {
    const s = state.selected;
    if (s && s.what === what && s.id === id) return " selected";
    if (what === "op" && state.matched.has(id)) return " match";
    if (s && what === "op") {
      const from = s.what === "stall" ? D.stalls[s.id] : s.what === "wait" ? D.waits[s.id] : null;
      if (from && from.op === id) return " culprit";
    }
    return "";
  }

  function placed(lane, y, h) {
    if (lane.name !== "issue")
      for (const [op, , , , track] of lane.bars) opPlace.set(op, { y: y + track * (h / lane.tracks), h: h / lane.tracks });
  }

  // More shapes than pixels: of each pixel and track the fill that holds it longest.
  function thinned(shapes) {
    const pixel = (state.t1 - state.t0) / (width() - LEFT - RIGHT), cells = new Map(), out = [];
    for (const s of shapes) {
      if (s.end - s.start > pixel || s.mark.includes("selected") || s.mark.includes("match")) { out.push(s); continue; }
      const at = Math.floor((s.start - state.t0) / pixel), key = `${at} ${s.y}`;
      if (!cells.has(key)) cells.set(key, { at, fills: new Map() });
      const fills = cells.get(key).fills, known = fills.get(s.fill);
      if (known) known.total += s.end - s.start;
      else fills.set(s.fill, { shape: s, total: s.end - s.start });
    }
    for (const { at, fills } of cells.values()) {
      let best = null;
      for (const f of fills.values()) if (!best || f.total > best.total) best = f;
      const start = state.t0 + at * pixel;
      out.push({ ...best.shape, start, end: start + pixel, many: true });
    }
    return out.sort((a, b) => (a.y - b.y) || (a.start - b.start));
  }

  // Shapes of one colour that are too narrow and too near to tell apart become one.
  function merged(shapes, draw) {
    if (shapes.length > 1.5 * width()) shapes = thinned(shapes);
    let out = "", open = null;
    const flush = () => { if (open) out += draw(open, open.x0, open.x1); open = null; };
    for (const shape of shapes) {
      const [a, b] = [cx(shape.start), cx(shape.end)];
      if (open && shape.fill === open.fill && shape.y === open.y && shape.mark === open.mark && !shape.mark.includes("selected") && b - a < 1.2 && a - open.x1 < 0.6) {
        open.x1 = Math.max(open.x1, b);
        open.many = true;
        continue;
      }
      flush();
      open = { ...shape, x0: a, x1: b };
    }
    flush();
    return out;
  }

  function laneSvg(lane, y, h) {
    const th = h / lane.tracks, bars = inWindow(lane.index);
    if (state.selected || state.hands) placed(lane, y, h);
    const tails = [], works = [];
    for (const [op, start, end, done, track] of bars) {
      const o = D.ops[op], mark = chosen("op", op), base = { op, y: y + track * th, fill: o.colour, mark };
      if (done > end && seen(end, done)) tails.push({ ...base, start: end, end: done });
      if (seen(start, end)) works.push({ ...base, start, end });
    }
    let out = merged(tails, (s, a, b) => rect(a, s.y + 1, b, th - 2, "tail hit" + s.mark, "op", s.op, s.fill));
    out += merged(works, (s, a, b) => {
      let part = rect(a, s.y, b, th, (b - a < 2 ? "bar thin hit" : "bar hit") + s.mark, "op", s.op, s.fill);
      const room = lane.tracks > 1 || s.many ? 0 : b - a;
      const label = room > 8 && D.ops[s.op].labels.find((l) => room > 6.2 * l.length + 4);
      if (label) part += `<text class="in" x="${(a + room / 2).toFixed(1)}" y="${s.y + th / 2 + 3.5}">${esc(label)}</text>`;
      return part;
    });
    return out;
  }

  function bandSvg(band, top) {
    let y = top, out = `<g class="row" data-row="${band.row}" data-name="${esc(band.name)}">`;
    out += `<text class="rowname" x="10" y="${y + (LEFT < 178 ? 10.5 : PHASE + 13)}">${esc(band.name)}</text>`;
    const spans = inWindow(band.spanIndex);
    if (spans.length < width()) spans.forEach(([phase, turn, start, end, i]) => {
      const a = cx(start), b = cx(end), long = turn === null ? phase : `iteration ${turn}`;
      out += `<rect x="${a}" y="${y}" width="${Math.max(0, b - a)}" height="${PHASE}" ` +
        `fill="var(--${i % 2 ? "odd" : "even"})"/>`;
      const word = [long, turn === null ? phase[0] : String(turn)].find((w) => b - a > 6 * w.length + 4);
      if (word) out += `<text class="tick" text-anchor="middle" x="${(a + b) / 2}" y="${y + 10.5}">${word}</text>`;
    });
    y += PHASE + 7;
    const first = y;
    rowTop.set(band.row, y);
    let front = "";
    for (const lane of [band.issue, ...band.lanes]) {
      const h = lane.tracks === 1 ? LANE : Math.max(LANE, Math.min(lane.tracks, 9) * TRACK);
      out += `<text class="lanename" text-anchor="end" x="${LEFT - 7}" y="${y + h / 2 + 4}">${esc(lane.name)}</text>` +
        `<rect x="${LEFT}" y="${y}" width="${width() - LEFT - RIGHT}" height="${h}" fill="var(--lane)"/>`;
      if (lane.name === "issue")
        front += merged(inWindow(band.stallIndex).map((i) => ({ id: i, y, start: D.stalls[i].start, end: D.stalls[i].end,
          fill: `url(#h-${D.stalls[i].kind})`, mark: chosen("stall", i) + (D.stalls[i].ahead ? " ahead" : "") })),
        (s, a, b) => rect(a, y, b, h, "stall hit" + s.mark, "stall", s.id, s.fill));
      front += laneSvg(lane, y, h);
      y += h + GAP;
    }
    const stamped = D.measured[band.row];
    if (stamped) {
      out += `<text class="lanename" text-anchor="end" x="${LEFT - 7}" y="${y + 13}">measured</text>` +
        `<rect x="${LEFT}" y="${y}" width="${width() - LEFT - RIGHT}" height="${LANE}" fill="var(--lane)"/>`;
      stamped.forEach(([label, start, end, , colour], i) => {
        if (!seen(start, end)) return;
        front += rect(cx(start), y, cx(end), LANE, "bar hit measured", "measured", band.row * 1e6 + i,
          colour || (i % 2 ? "var(--odd2)" : "var(--even2)"));
        const room = cx(end) - cx(start);
        if (room > 6.2 * label.length + 4) front += `<text class="in" x="${(cx(start) + room / 2).toFixed(1)}" ` +
          `y="${y + LANE / 2 + 3.5}">${esc(label)}</text>`;
      });
      y += LANE + GAP;
    }
    const waits = inWindow(band.waitIndex);
    if (waits.length > MANY) state.left += waits.length;
    else for (const i of waits) {
      const w = D.waits[i];
      front += `<path class="wait hit${chosen("wait", i)}" d="M${x(w.start).toFixed(1)} ${first + 1}l-3.5 -6h7z" ` +
        `data-what="wait" data-id="${i}"/>`;
    }
    // What can be clicked of a barrier lies below the ops, or it would cover the narrow ones.
    let lines = "";
    const met = inWindow(band.barrierIndex);
    if (met.length > MANY) state.left += met.length;
    else met.forEach((i) => {
      const b = D.barriers[i];
      const at = `x1="${x(b.release)}" x2="${x(b.release)}" y1="${first - 2}" y2="${y - GAP}"`;
      out += `<line class="barrierhit" ${at} data-what="barrier" data-id="${i}"/>`;
      lines += `<line class="barrier" ${at}/>`;
    });
    out += front + lines;
    return [out + "</g>", y + BAND - GAP];
  }

  function slotsSvg(top) {
    let y = top, out = '<g class="slots">';
    if (D.slotLines.length) {
      out += `<text class="rowname" x="10" y="${y + 10}">storage</text>`;
      y += 16;
    }
    for (const line of D.slotLines) {
      out += `<text class="lanename" text-anchor="end" x="${LEFT - 7}" y="${y + 10}">${esc(line.name)}</text>` +
        `<rect x="${LEFT}" y="${y}" width="${width() - LEFT - RIGHT}" height="13" fill="var(--lane)"/>`;
      const shapes = [], names = [];
      for (const i of inWindow(line.index)) {
        const s = D.slots[i], mark = chosen("slot", i);
        if (s.ready > s.start) shapes.push({ id: i, y, start: s.start, end: s.ready, fill: "var(--fill)", mark });
        if (seen(s.ready, s.end)) shapes.push({ id: i, y, start: s.ready, end: s.end, fill: "var(--held)", mark });
        const room = cx(s.end) - cx(s.ready);
        if (seen(s.ready, s.end) && room > 6.2 * s.content.length + 4)
          names.push(`<text class="in" x="${cx(s.ready) + room / 2}" y="${y + 10}">${esc(s.content)}</text>`);
      }
      out += merged(shapes, (s, a, b) => rect(a, y + 1, b, 11, "hit" + s.mark, "slot", s.id, s.fill)) + names.join("");
      y += 13 + GAP;
    }
    return [out + "</g>", y];
  }

  function curve(x0, y0, x1, y1, what, id, css) {
    const bend = Math.max(18, Math.abs(x1 - x0) / 3);
    const d = `M${x0} ${y0}C${x0 + bend} ${y0} ${x1 - bend} ${y1} ${x1} ${y1}`;
    return `<path class="linkhit" d="${d}" data-what="${what}" data-id="${id}"/>` +
      `<path class="link${css}" d="${d}" marker-end="url(#arrow)"/>`;
  }

  // The stream of a row, or of a row of its group when it is not shown itself.
  function rowPlace(row) {
    if (rowTop.has(row)) return rowTop.get(row);
    const alike = [...rowTop.keys()].find((r) => row !== null && D.rows[r].group === D.rows[row].group);
    return rowTop.get(alike);
  }

  function linksSvg() {
    const s = state.selected;
    if (!s) return "";
    let out = "";
    const centre = (op) => { const p = opPlace.get(op); return p && p.y + p.h / 2; };
    const ids = s.what === "op" ? linksOf.get(s.id) || [] : s.what === "link" ? [s.id] : [];
    for (const i of ids) {
      const l = D.links[i], a = centre(l.src), b = centre(l.dst);
      if (a === undefined || b === undefined) continue;
      out += curve(x(D.ops[l.src].done), a, x(D.ops[l.dst].start), b, "link", i, chosen("link", i));
    }
    if (s.what === "wait" && D.waits[s.id].op !== null) {
      const wait = D.waits[s.id], row = rowTop.get(wait.row), from = centre(wait.op);
      if (from) out += curve(x(D.ops[wait.op].done), from, x(wait.start), row, "wait", s.id, "");
    }
    if (s.what === "stall" || s.what === "cause") {
      const stall = D.stalls[s.id], row = rowTop.get(stall.row);
      const from = stall.op !== null ? centre(stall.op) : rowPlace(stall.culprit) + LANE / 2;
      if (row !== undefined && from) {
        const at = stall.op !== null ? Math.min(D.ops[stall.op].done, stall.end) : stall.end;
        out += curve(x(at) - (stall.op !== null ? 0 : 24), from, x(stall.end), row + LANE / 2, "cause", s.id, "");
      }
    }
    return out;
  }

  // Who handed what to whom: a slot's writer to its first reader, its last reader to the next writer.
  const lives = new Map();
  D.slots.forEach((s, i) => { if (!lives.has(s.slot)) lives.set(s.slot, []); lives.get(s.slot).push(i); });
  function handsSvg() {
    if (!state.hands) return "";
    let out = "";
    const arrow = (from, to, css, what, id) => {
      const a = opPlace.get(from), b = opPlace.get(to), o = D.ops[from], p = D.ops[to];
      if (!a || !b || !seen(o.done, p.start)) return;
      const [x0, x1] = [x(o.done), x(p.start)], [y0, y1] = [a.y + a.h / 2, b.y + b.h / 2];
      const d = `M${x0.toFixed(1)} ${y0}C${(x0 + 14).toFixed(1)} ${y0} ${(x1 - 14).toFixed(1)} ${y1} ${x1.toFixed(1)} ${y1}`;
      out += `<path class="hand ${css}" d="${d}" marker-end="url(#arrow)" data-what="${what}" data-id="${id}"/>`;
    };
    const visible = new Set(D.slotLines.flatMap((line) => inWindow(line.index)));
    if (visible.size > MANY) { state.left += visible.size; return ""; }
    for (const chain of lives.values())
      chain.forEach((i, n) => {
        if (!visible.has(i)) return;
        const s = D.slots[i], next = D.slots[chain[n + 1]];
        if (!seen(s.start, s.end) || !s.writers.length || !s.readers.length) return;
        const byRow = new Map();
        for (const r of s.readers) if (!byRow.has(D.ops[r].row)) byRow.set(D.ops[r].row, r);
        for (const r of byRow.values())
          if (D.ops[r].row !== D.ops[s.writers[0]].row) arrow(s.writers[0], r, "full", "slot", i);
        const last = s.readers[s.readers.length - 1];
        if (next && next.writers.length && D.ops[last].row !== D.ops[next.writers[0]].row)
          arrow(last, next.writers[0], "free", "slot", i);
      });
    return out;
  }

  function axisSvg() {
    const step = nice((state.t1 - state.t0) / ((width() - LEFT) / 90));
    let out = `<text class="lanename" x="10" y="14">cycles</text>`;
    for (let t = Math.ceil(state.t0 / step) * step; t <= state.t1; t += step)
      out += `<text class="tick" text-anchor="middle" x="${x(t)}" y="14">${t}</text>` +
        `<line x1="${x(t)}" x2="${x(t)}" y1="18" y2="22" stroke="var(--rule)"/>`;
    const m = D.marks.find(([a, b]) => a >= state.t0 && b <= state.t1 && a >= (state.t0 + state.t1) / 2 - (b - a)) ||
      D.marks.find(([a, b]) => a >= state.t0 && b <= state.t1);
    if (m && D.ii !== null) {
      const a = x(m[0]), b = x(m[1]), word = `II ${D.ii}`;
      out += `<path class="iiline" d="M${a} 38V30H${b}V38"/>` +
        `<rect x="${(a + b) / 2 - 4 * word.length}" y="24" width="${8 * word.length}" height="12" fill="var(--bg)"/>` +
        `<text class="ii" id="ii" x="${(a + b) / 2}" y="34">${word}</text>`;
    }
    return out;
  }

  function rangeSvg(bottom) {
    if (!state.range) return "";
    const [from, to] = [...state.range].sort((a, b) => a - b), a = cx(from), b = cx(to);
    if (!seen(from, to)) return "";
    return `<rect class="range" x="${a}" y="18" width="${b - a}" height="${bottom - 18}"/>` +
      [a, b].map((at) => `<line class="rangeline" x1="${at}" x2="${at}" y1="18" y2="${bottom}"/>`).join("") +
      `<text class="rangetext" id="range" x="${(a + b) / 2}" y="${bottom + 4}">${Math.round(to - from)} cycles</text>`;
  }

  function render() {
    opPlace.clear(); rowTop.clear();
    state.left = 0;
    LEFT = width() < 560 ? 104 : 178;
    let y = TOP, body = "";
    for (const band of shownBands()) { const [part, next] = bandSvg(band, y); body += part; y = next; }
    const [slots, bottom] = slotsSvg(y);
    const clip = `<clipPath id="area"><rect x="${LEFT}" y="0" width="${width() - LEFT - RIGHT}" height="${bottom}"/></clipPath>`;
    svg.setAttribute("width", width());
    svg.setAttribute("height", bottom + 10);
    const arrows = handsSvg();
    const notice = state.left ? `<text class="notice" x="${LEFT + 4}" y="${TOP - 16}">${state.left} waits, barriers and hand-overs show when you zoom in</text>` : "";
    svg.innerHTML = `<defs>${D.defs}${clip}</defs>` + axisSvg() + body + slots + notice +
      `<g clip-path="url(#area)">${arrows}${linksSvg()}</g>` + rangeSvg(bottom);
  }

  let queued = false;
  const redraw = () => {
    if (queued) return;
    queued = true;
    requestAnimationFrame(() => { queued = false; render(); });
  };

  // --- moving about -------------------------------------------------------------------------
  function show(t0, t1) {
    const least = 16, span = Math.min(Math.max(t1 - t0, least), D.cycles * 1.05 + least);
    const mid = (t0 + t1) / 2;
    state.t0 = Math.max(-span * 0.02, Math.min(mid - span / 2, D.cycles * 1.02 - span));
    if (span >= D.cycles) state.t0 = 0;
    state.t1 = state.t0 + span;
    redraw();
  }
  const zoom = (factor, at) => show(at - (at - state.t0) * factor, at + (state.t1 - at) * factor);
  const middle = () => (state.t0 + state.t1) / 2;
  const pan = (share) => { const d = (state.t1 - state.t0) * share; show(state.t0 + d, state.t1 + d); };
  const cycleAt = (px) => state.t0 + ((px - LEFT) / (width() - LEFT - RIGHT)) * (state.t1 - state.t0);
  const fit = () => show(0, D.cycles);
  const steady = () => show(D.steadyWindow[0], D.steadyWindow[1]);

  plot.addEventListener("wheel", (e) => {
    e.preventDefault();
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan((e.deltaX || e.deltaY) / 900);
    else zoom(Math.exp(e.deltaY / 400), cycleAt(e.clientX - plot.getBoundingClientRect().left));
  }, { passive: false });
  let drag = null, dragged = false;
  const fingers = new Map(); // two of them zoom
  const local = (px) => px - plot.getBoundingClientRect().left;
  const snap = (t, tolerance) => { // the nearest begin or end of an op on a row that shows
    let best = Math.round(t), off = tolerance;
    for (const band of shownBands())
      for (const bar of inWindow(band.issue.index))
        for (const edge of [bar[1], bar[2]]) if (Math.abs(edge - t) < off) { best = edge; off = Math.abs(edge - t); }
    return best;
  };
  const near = () => 5 * (state.t1 - state.t0) / (width() - LEFT - RIGHT);
  svg.addEventListener("pointerdown", (e) => {
    fingers.set(e.pointerId, e.clientX);
    const measure = e.shiftKey || state.measuring;
    drag = { x: e.clientX, t0: state.t0, t1: state.t1, moved: false, measure, from: snap(cycleAt(local(e.clientX)), near()) };
  });
  window.addEventListener("pointermove", (e) => {
    if (!drag) return;
    if (fingers.has(e.pointerId) && fingers.size === 2) {
      const before = [...fingers.values()];
      fingers.set(e.pointerId, e.clientX);
      const now = [...fingers.values()], gap = (p) => Math.max(10, Math.abs(p[0] - p[1]));
      drag.moved = true;
      return zoom(gap(before) / gap(now), cycleAt(local((now[0] + now[1]) / 2)));
    }
    if (Math.abs(e.clientX - drag.x) > 3) drag.moved = true;
    if (!drag.moved) return;
    if (drag.measure) return measured(drag.from, snap(cycleAt(local(e.clientX)), near()));
    const d = ((e.clientX - drag.x) / (width() - LEFT - RIGHT)) * (drag.t1 - drag.t0);
    svg.classList.add("dragging");
    show(drag.t0 - d, drag.t1 - d);
  });
  const release = (e) => {
    fingers.delete(e.pointerId);
    dragged = !!(drag && drag.moved);
    drag = null;
    svg.classList.remove("dragging");
  };
  window.addEventListener("pointerup", release);
  window.addEventListener("pointercancel", release);

  // A range and what happens in it: cycles, time, how busy each unit of the rows shown is.
  function measured(from, to) {
    state.range = [from, to];
    const [a, b] = [Math.min(from, to), Math.max(from, to)], span = b - a, rows = [];
    for (const band of shownBands())
      for (const lane of [band.issue, ...band.lanes]) {
        let busy = 0;
        for (const bar of lane.bars) busy += Math.max(0, Math.min(bar[2], b) - Math.max(bar[1], a));
        if (busy) rows.push(`${band.name}, ${lane.name}: ${busy} cycles busy` + (span ? `, ${Math.round(100 * Math.min(1, busy / span))}%` : ""));
      }
    const time = D.clock ? `, ${(span / D.clock * 1e6).toPrecision(3)} us` : "";
    state.selected = null;
    showDetail("Range", `${span} cycles${time}, ${a}..${b}` + (D.ii ? `, ${(span / D.ii).toFixed(2)} iterations` : ""), rows);
    redraw();
  }
  function measure() {
    const s = state.selected;
    if (state.measuring && s && s.what === "op" && state.from !== undefined) {
      measured(state.from, D.ops[s.id].start);
      setMeasuring(false);
      return;
    }
    setMeasuring(!state.measuring);
    state.from = s && s.what === "op" ? D.ops[s.id].start : undefined;
  }
  function setMeasuring(on) {
    state.measuring = on;
    document.getElementById("measure").setAttribute("aria-pressed", String(on));
  }

  // Ops of a row one after the other, and the same moment on another row.
  function step(by) {
    const bands = shownBands(), s = state.selected && state.selected.what === "op" ? state.selected.id : null;
    const band = bands.find((b) => s !== null && b.row === D.ops[s].row) || bands[0];
    if (!band || !band.issue.bars.length) return;
    const order = band.issue.index.order, at = s === null ? -1 : order.findIndex((bar) => bar[0] === s);
    const first = Math.max(0, bisect(band.issue.index.starts, state.t0));
    go(order[at < 0 ? Math.min(first, order.length - 1) : Math.max(0, Math.min(order.length - 1, at + by))][0]);
  }
  function otherRow(by) {
    const bands = shownBands(), s = state.selected && state.selected.what === "op" ? state.selected.id : null;
    if (s === null) return step(1);
    const n = bands.findIndex((b) => b.row === D.ops[s].row), band = bands[Math.max(0, Math.min(bands.length - 1, n + by))];
    const at = bisect(band.issue.index.starts, D.ops[s].issue);
    if (band.issue.bars.length) go(band.issue.index.order[Math.min(at, band.issue.bars.length - 1)][0]);
  }
  function go(op) {
    const o = D.ops[op], span = state.t1 - state.t0;
    if (o.issue < state.t0 || o.done > state.t1) {
      const wide = Math.max(Math.min(span, D.ii ? 2 * D.ii : span), (o.end - o.start) * 3);
      show((o.start + o.end) / 2 - wide / 2, (o.start + o.end) / 2 + wide / 2);
    }
    select({ what: "op", id: op });
  }

  // Words in labels, of ops on rows that show.
  const search = document.getElementById("search"), hits = document.getElementById("hits");
  function find() {
    const word = search.value.trim().toLowerCase(), rows = new Set(shownBands().map((b) => b.row));
    state.matches = [];
    if (word) D.ops.forEach((o, i) => {
      const words = [o.place.label, D.codes[o.place.label] || "", o.word].join(" ").toLowerCase();
      if (rows.has(o.row) && words.includes(word)) state.matches.push(i);
    });
    if (word && !state.matches.length) {
      const wait = D.waits.findIndex((w) => rows.has(w.row) && w.place.label.toLowerCase().includes(word));
      if (wait >= 0) { hits.textContent = "a wait"; select({ what: "wait", id: wait }); show(D.waits[wait].start - (D.ii || 500) / 2, D.waits[wait].start + (D.ii || 500) / 2); return; }
    }
    state.matched = new Set(state.matches);
    state.hit = -1;
    hits.textContent = word ? `${state.matches.length} found` : "";
    redraw();
  }
  function nextHit(by) {
    if (!state.matches.length) return;
    if (state.hit < 0) state.hit = Math.max(0, state.matches.findIndex((i) => D.ops[i].issue >= state.t0)) - (by > 0 ? 1 : 0);
    state.hit = (state.hit + by + state.matches.length) % state.matches.length;
    hits.textContent = `${state.hit + 1} of ${state.matches.length}`;
    go(state.matches[state.hit]);
  }
  search.addEventListener("input", find);
  search.addEventListener("keydown", (e) => {
    e.stopPropagation();
    if (e.key === "Enter") { e.preventDefault(); nextHit(e.shiftKey ? -1 : 1); }
    if (e.key === "Escape") { search.value = ""; find(); plot.focus(); }
  });
  const keys = {
    "+": () => zoom(0.7, middle()), "=": () => zoom(0.7, middle()), w: () => zoom(0.7, middle()),
    "-": () => zoom(1.4, middle()), s: () => zoom(1.4, middle()), 0: fit, f: fit, i: steady,
    ArrowLeft: () => pan(-0.2), a: () => pan(-0.2), ArrowRight: () => pan(0.2), d: () => pan(0.2),
    n: () => step(1), p: () => step(-1), ArrowDown: () => otherRow(1), ArrowUp: () => otherRow(-1),
    m: measure, "/": () => search.focus(),
    Escape: () => { state.range = null; setMeasuring(false); select(null); }, h: () => hands(!state.hands), "?": () => help(),
  };
  function hands(on) {
    state.hands = on;
    document.getElementById("hands").checked = on;
    redraw();
  }
  function help() {
    const panel = document.getElementById("keys");
    panel.hidden = !panel.hidden;
    document.getElementById("help").setAttribute("aria-expanded", String(!panel.hidden));
  }
  window.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || !keys[e.key] || e.target === search) return;
    if ((e.key === "ArrowUp" || e.key === "ArrowDown") && document.activeElement !== plot) return;
    e.preventDefault();
    keys[e.key]();
  });
  const press = (id, action) => document.getElementById(id).addEventListener("click", action);
  press("zoomin", () => zoom(0.7, middle()));
  press("zoomout", () => zoom(1.4, middle()));
  press("fit", fit);
  press("steady", steady);
  press("help", help);
  press("measure", measure);
  document.getElementById("hands").addEventListener("change", (e) => hands(e.target.checked));
  document.getElementById("all").addEventListener("change", (e) => { state.all = e.target.checked; redraw(); });
  new ResizeObserver(redraw).observe(plot);

  // --- looking closer -----------------------------------------------------------------------
  const target = (e) => e.target.closest && e.target.closest("[data-what]");
  plot.addEventListener("mousemove", (e) => {
    const t = target(e);
    if (!t || drag) { tip.style.display = "none"; return; }
    tip.textContent = texts[t.dataset.what](+t.dataset.id);
    tip.style.display = "block";
    tip.style.left = Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
    tip.style.top = Math.min(e.clientY + 16, innerHeight - tip.offsetHeight - 8) + "px";
  });
  plot.addEventListener("mouseleave", () => { tip.style.display = "none"; });
  plot.addEventListener("click", (e) => {
    if (dragged) { dragged = false; return; }
    const t = target(e);
    select(t ? { what: t.dataset.what, id: +t.dataset.id } : null);
  });

  function showDetail(title, text, more) {
    detail.textContent = "";
    const add = (tag, text, css) => {
      const el = document.createElement(tag);
      el.textContent = text;
      if (css) el.className = css;
      el.style.whiteSpace = "pre-line";
      return detail.appendChild(el);
    };
    if (title) add("h2", title);
    add("div", text, title ? "" : "dim");
    if (more && more.length) add("div", "\n" + more.join("\n"), "dim");
  }

  function select(what) {
    state.selected = what;
    if (!what) {
      showDetail("", "Hover for details. Click an op to see where its data comes from and goes, a " +
        "stall to see what it waits for, an arrow to read its reason. Shift and drag measures.");
      light([]);
    } else {
      const names = { op: "Op", stall: "Stall", barrier: "Barrier", slot: "Storage", link: "Data", wait: "Wait", cause: "Reason",
        measured: "Measured" };
      const list = what.what === "op" ? (linksOf.get(what.id) || []).map((i) => linkText(D.links[i])) : [];
      showDetail(names[what.what], texts[what.what](what.id),
        what.what === "op" ? ["Data in and out:", ...(list.length ? list : ["none recorded"])] : []);
      const from = { op: D.ops, stall: D.stalls, wait: D.waits, cause: D.stalls }[what.what];
      if (from) light(entriesAt(from[what.id].place, from[what.id].row));
    }
    redraw();
  }

  // --- source, schedule and code -------------------------------------------------------------
  const P = D.panels || { source: [], entries: [], codes: [] };
  const panels = document.getElementById("panels");
  const entryAt = new Map(P.entries.map(([list, index], n) => [`${list} ${index}`, n]));
  const programOf = (row) => (D.rows[row].program ? D.rows[row].program + "." : "");
  const entriesAt = (p, row) => {
    const n = entryAt.get(`${programOf(row)}${p.phase} ${p.index}`);
    return n === undefined ? [] : [n];
  };
  const shown = { source: [], entries: [], codes: [] };
  let tab = 0;
  const owned = P.codes.map((code) => {
    const owner = new Array(code.lines.length).fill(null);
    for (const [from, to, entries] of code.owners) for (let i = from; i < to; i++) owner[i] = entries;
    return owner;
  });
  function light(entries, from) {
    for (const kind of Object.values(shown)) for (const el of kind) if (el) el.classList.remove("on");
    const on = (el, scroll) => {
      if (!el) return;
      el.classList.add("on");
      if (scroll) el.parentElement.scrollTop = el.offsetTop - el.parentElement.offsetTop - el.parentElement.clientHeight / 3;
    };
    const set = new Set(entries), keys = new Set(entries.map((n) => P.entries[n][5]).filter(Boolean));
    const mark = (kind, wanted) => {
      let first = true;
      shown[kind].forEach((el, n) => { if (el && wanted(n)) { on(el, first && from !== kind); first = false; } });
    };
    mark("entries", (n) => set.has(n));
    mark("source", (n) => keys.has(P.source[n][0]));
    if (P.codes.length) mark("codes", (n) => (owned[tab][n] || []).some((e) => set.has(e)));
  }
  // The op of an entry in the window that shows, or the next one.
  function opOf(entry) {
    const [list, index] = P.entries[entry], rows = new Set(shownBands().map((b) => b.row));
    const fits = (o) => rows.has(o.row) && `${programOf(o.row)}${o.place.phase}` === list && o.place.index === index;
    const all = D.ops.map((o, i) => [o, i]).filter(([o]) => fits(o));
    return (all.find(([o]) => o.done >= state.t0 && o.start <= state.t1) || all[0] || [null, null])[1];
  }
  function pick(entries, from) {
    if (!entries.length) return;
    const ops = entries.map(opOf).filter((op) => op !== null);
    if (ops.length) { state.selected = { what: "op", id: ops[0] }; showDetail("Op", opText(D.ops[ops[0]])); go2(ops[0]); }
    light(entries, from);
    redraw();
  }
  function go2(op) {
    const o = D.ops[op], span = state.t1 - state.t0;
    if (o.done < state.t0 || o.start > state.t1) show(o.start - span / 2, o.start + span / 2);
  }
  function linesOf(kind, title, lines, chosenBy) {
    const column = document.createElement("div"), head = column.appendChild(document.createElement("h2"));
    head.append(title);
    const list = column.appendChild(document.createElement("div"));
    list.className = "lines";
    list.tabIndex = 0;
    list.setAttribute("aria-label", title);
    list.append(...lines);
    list.addEventListener("click", (e) => {
      const n = shown[kind].indexOf(e.target.closest(".lines > div"));
      if (n >= 0) pick(chosenBy(n), kind);
    });
    panels.appendChild(column);
    return head;
  }
  const line = (number, text, css) => {
    const el = document.createElement("div"), n = document.createElement("i");
    n.textContent = number;
    el.append(n, text || " ");
    if (css) el.className = css;
    return el;
  };
  function drawPanels() {
    panels.textContent = "";
    shown.source = P.source.map(([, number, text]) => line(number, text, ""));
    const linked = new Set(P.entries.map((e) => e[5]));
    shown.source.forEach((el, n) => { if (!linked.has(P.source[n][0])) el.classList.add("plain"); });
    if (shown.source.length)
      linesOf("source", "Source", shown.source, (n) => P.entries.flatMap((e, i) => (e[5] === P.source[n][0] ? [i] : [])));
    const rows = [];
    shown.entries = P.entries.map(([list, index, label, reason], n) => {
      if (!n || P.entries[n - 1][0] !== list) rows.push(line("", list, "part plain"));
      const el = line(index, label, "");
      if (reason) el.title = reason;
      rows.push(el);
      return el;
    });
    if (P.entries.length) linesOf("entries", "Schedule", rows, (n) => [n]);
    if (P.codes.length) {
      const code = P.codes[tab];
      shown.codes = code.lines.map((text, n) => line(n + 1, text, owned[tab][n] ? "" : "plain"));
      const head = linesOf("codes", "Code", shown.codes, (n) => owned[tab][n] || []);
      P.codes.forEach((c, i) => {
        const button = head.appendChild(document.createElement("button"));
        button.textContent = c.name;
        button.setAttribute("aria-pressed", String(i === tab));
        button.addEventListener("click", () => { tab = i; drawPanels(); });
      });
    }
    panels.hidden = !panels.children.length;
    panels.style.gridTemplateColumns = innerWidth > 900 && panels.children.length < 3 ? "repeat(auto-fit, minmax(0, 1fr))" : "";
  }
  drawPanels();

  for (const row of document.querySelectorAll("tr.jump"))
    for (const kind of ["click", "keydown"]) row.addEventListener(kind, (e) => {
      if (kind === "keydown" && e.key !== "Enter" && e.key !== " ") return;
      e.preventDefault();
      const i = +row.dataset.stall, s = D.stalls[i], pad = Math.max(D.ii || 0, (s.end - s.start) * 1.3);
      if (!D.bands.find((b) => b.row === s.row).representative) {
        state.all = true;
        document.getElementById("all").checked = true;
      }
      show((s.start + s.end) / 2 - pad * 0.6, (s.start + s.end) / 2 + pad * 0.6);
      select({ what: "stall", id: i });
    });

  select(null);
  if (D.rows.some((r) => r.program)) hands(true); // roles live by their hand-overs
  if (D.cycles > 40 * (D.ii || D.cycles)) steady(); // a long run begins where it repeats
  render();
  document.documentElement.dataset.ready = "yes";
};
unpacked(document.getElementById("data")).then((D) => start(expanded(D)));
