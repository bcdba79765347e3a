"use strict";
// Draws the timeline held in #data. Only what lies in the visible window is in the DOM; every
// shape carries data-what and data-id, and all mouse work is delegated to the plot.
(() => {
  const unpacked = (v) => {
    if (!v || Array.isArray(v) || !Array.isArray(v.keys)) return v;
    const named = (get) => Object.fromEntries(v.keys.map((key, i) => [key, get(i)]));
    if (v.values) return v.values.map((row) => named((i) => row[i]));
    const columns = v.columns.map(unpacked);
    return columns[0].map((_, at) => named((i) => columns[i][at]));
  };
  const D = JSON.parse(document.getElementById("data").textContent);
  for (const name in D) D[name] = unpacked(D[name]);
  const LEFT = 178, RIGHT = 14, PHASE = 14, LANE = 18, TRACK = 8, GAP = 3, BAND = 16, TOP = 44;
  const plot = document.getElementById("plot"), tip = document.getElementById("tip");
  const detail = document.getElementById("detail");
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  plot.appendChild(svg);
  const state = { t0: 0, t1: Math.max(1, D.cycles), all: false, hands: false, selected: null };
  const esc = (s) => String(s).replace(/[&<>"]/g, (c) =>
    ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
  const linksOf = new Map();
  D.links.forEach((l, i) => {
    for (const op of [l.src, l.dst]) linksOf.set(op, [...(linksOf.get(op) || []), i]);
  });

  // --- words --------------------------------------------------------------------------------
  const place = (p) => `${p.label} (${p.phase} ${p.index}` +
    (p.iteration === null ? ")" : `, iteration ${p.iteration})`);
  const opText = (o) => `${place(o.place)} of ${D.rows[o.row].name}\n${o.word} on ${o.unit}\n` +
    `issued ${o.issue}..${o.issued}, unit held ${o.start}..${o.end}, result at ${o.done}` +
    (o.queue ? `\ntakes ${o.count} units of ${o.queue}` : "") +
    o.detail.map(([k, v]) => `\n${k}: ${v}`).join("") +
    (D.lines[o.place.label] ? `\nwritten at ${D.lines[o.place.label]}` : "") + reason(o.place, o.row);
  const stallText = (s) =>
    `${place(s.place)} of ${D.rows[s.row].name}\nstalls ${s.end - s.start} cycles, ` +
    `${s.start}..${s.end}\nbecause ${s.text}${reason(s.place, s.row)}`;
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
  const width = () => Math.max(300, plot.clientWidth);
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
    if (s && what === "op") {
      const from = s.what === "stall" ? D.stalls[s.id] : s.what === "wait" ? D.waits[s.id] : null;
      if (from && from.op === id) return " culprit";
    }
    return "";
  }

  function laneSvg(lane, y, h) {
    let out = "";
    for (const [op, start, end, done, track] of lane.bars) {
      if (lane.name !== "issue") opPlace.set(op, { y: y + track * (h / lane.tracks), h: h / lane.tracks });
      if (!seen(start, done)) continue;
      const o = D.ops[op], th = h / lane.tracks, ty = y + track * th, css = chosen("op", op);
      if (done > end && seen(end, done))
        out += rect(cx(end), ty + 1, cx(done), th - 2, "tail hit" + css, "op", op, o.colour);
      if (!seen(start, end)) continue;
      out += rect(cx(start), ty, cx(end), th, "bar hit" + css, "op", op, o.colour);
      const room = lane.tracks > 1 ? 0 : cx(end) - cx(start);
      const label = o.labels.find((l) => room > 6.2 * l.length + 4);
      if (label) out += `<text class="in" x="${(cx(start) + room / 2).toFixed(1)}" ` +
        `y="${ty + th / 2 + 3.5}">${esc(label)}</text>`;
    }
    return out;
  }

  function bandSvg(band, top) {
    let y = top, out = `<g class="row" data-row="${band.row}" data-name="${esc(band.name)}">`;
    out += `<text class="rowname" x="10" y="${y + PHASE + 13}">${esc(band.name)}</text>`;
    band.spans.forEach(([phase, turn, start, end], i) => {
      if (!seen(start, end)) return;
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
        for (const i of band.stalls) {
          const s = D.stalls[i];
          if (seen(s.start, s.end))
            front += rect(cx(s.start), y, cx(s.end), h, "stall hit" + chosen("stall", i), "stall", i, `url(#h-${s.kind})`);
        }
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
    for (const i of band.waits) {
      const w = D.waits[i];
      if (w.start < state.t0 || w.start > state.t1) continue;
      front += `<path class="wait hit${chosen("wait", i)}" d="M${x(w.start).toFixed(1)} ${first + 1}l-3.5 -6h7z" ` +
        `data-what="wait" data-id="${i}"/>`;
    }
    // What can be clicked of a barrier lies below the ops, or it would cover the narrow ones.
    let lines = "";
    D.barriers.forEach((b, i) => {
      if (b.release < state.t0 || b.release > state.t1 || !b.arrivals.some(([r]) => r === band.row)) return;
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
      for (const i of line.lives) {
        const s = D.slots[i], css = "hit" + chosen("slot", i);
        if (!seen(s.start, s.end)) continue;
        if (seen(s.start, s.ready)) out += rect(cx(s.start), y + 1, cx(s.ready), 11, css, "slot", i, "var(--fill)");
        if (!seen(s.ready, s.end)) continue;
        out += rect(cx(s.ready), y + 1, cx(s.end), 11, css, "slot", i, "var(--held)");
        const room = cx(s.end) - cx(s.ready);
        if (room > 6.2 * s.content.length + 4)
          out += `<text class="in" x="${cx(s.ready) + room / 2}" y="${y + 10}">${esc(s.content)}</text>`;
      }
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
  D.slots.forEach((s, i) => lives.set(s.slot, [...(lives.get(s.slot) || []), i]));
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
    for (const chain of lives.values())
      chain.forEach((i, n) => {
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

  function render() {
    opPlace.clear(); rowTop.clear();
    let y = TOP, body = "";
    for (const band of shownBands()) { const [part, next] = bandSvg(band, y); body += part; y = next; }
    const [slots, bottom] = slotsSvg(y);
    const clip = `<clipPath id="area"><rect x="${LEFT}" y="0" width="${width() - LEFT - RIGHT}" height="${bottom}"/></clipPath>`;
    svg.setAttribute("width", width());
    svg.setAttribute("height", bottom + 10);
    svg.innerHTML = `<defs>${D.defs}${clip}</defs>` + axisSvg() + body + slots +
      `<g clip-path="url(#area)">${handsSvg()}${linksSvg()}</g>`;
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
  let drag = null;
  svg.addEventListener("pointerdown", (e) => { drag = { x: e.clientX, t0: state.t0, t1: state.t1, moved: false }; });
  window.addEventListener("pointermove", (e) => {
    if (!drag) return;
    const d = ((e.clientX - drag.x) / (width() - LEFT - RIGHT)) * (drag.t1 - drag.t0);
    if (Math.abs(e.clientX - drag.x) > 3) drag.moved = true;
    if (drag.moved) { svg.classList.add("dragging"); show(drag.t0 - d, drag.t1 - d); }
  });
  let dragged = false;
  window.addEventListener("pointerup", () => { dragged = !!(drag && drag.moved); drag = null; svg.classList.remove("dragging"); });
  const keys = {
    "+": () => zoom(0.7, middle()), "=": () => zoom(0.7, middle()), w: () => zoom(0.7, middle()),
    "-": () => zoom(1.4, middle()), s: () => zoom(1.4, middle()), 0: fit, f: fit, i: steady,
    ArrowLeft: () => pan(-0.2), a: () => pan(-0.2), ArrowRight: () => pan(0.2), d: () => pan(0.2),
    Escape: () => select(null), h: () => hands(!state.hands), "?": () => help(),
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
    if (e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
    e.preventDefault();
    keys[e.key]();
  });
  const press = (id, action) => document.getElementById(id).addEventListener("click", action);
  press("zoomin", () => zoom(0.7, middle()));
  press("zoomout", () => zoom(1.4, middle()));
  press("fit", fit);
  press("steady", steady);
  press("help", help);
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

  function select(what) {
    state.selected = what;
    detail.textContent = "";
    const add = (tag, text, css) => {
      const el = document.createElement(tag);
      el.textContent = text;
      if (css) el.className = css;
      return detail.appendChild(el);
    };
    if (!what) {
      add("div", "Hover for details. Click an op to see where its data comes from and goes, a " +
        "stall to see what it waits for, an arrow to read its reason.", "dim");
    } else {
      const names = { op: "Op", stall: "Stall", barrier: "Barrier", slot: "Storage", link: "Data", wait: "Wait", cause: "Reason",
        measured: "Measured" };
      add("h2", names[what.what]);
      add("div", texts[what.what](what.id)).style.whiteSpace = "pre-line";
      if (what.what === "op") {
        add("h2", "Data in and out");
        const list = (linksOf.get(what.id) || []).map((i) => linkText(D.links[i]));
        add("div", list.length ? list.join("\n\n") : "none recorded", "dim").style.whiteSpace = "pre-line";
      }
    }
    redraw();
  }

  for (const row of document.querySelectorAll("tr.jump"))
    row.addEventListener("click", () => {
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
  render();
  document.documentElement.dataset.ready = "yes";
})();
