'use strict';
// Tables that sort and filter, plots that tell their values, slices on demand, commands to copy.
// Everything is set as text or as an attribute: nothing here makes markup from data.
const make = (name, attributes = {}, text) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
};
const svg = (name, attributes = {}) => {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
};

// 1. Tables.
const UNITS = { ns: 1, 'µs': 1e3, ms: 1e6, s: 1e9, B: 1, KiB: 1024, MiB: 1 << 20, GiB: 1 << 30 };
const number = (text) => {
  const found = /^[<±]?\s*(-?[\d.]+(?:e-?\d+)?)\s*([a-zA-Zµ]+)?/.exec(text);
  return found ? parseFloat(found[1]) * (UNITS[found[2]] ?? 1) : NaN;
};
const order = new Intl.Collator('en', { numeric: true }).compare;
function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = make('button', { type: 'button' }, head.textContent);
    head.replaceChildren(button);
    head.setAttribute('aria-sort', 'none');
    button.addEventListener('click', () => {
      const rising = head.getAttribute('aria-sort') !== 'ascending';
      heads.forEach((other) => other.setAttribute('aria-sort', 'none'));
      head.setAttribute('aria-sort', rising ? 'ascending' : 'descending');
      const body = table.tBodies[0];
      const isNumber = head.classList.contains('r');
      const rows = [...body.rows].map((row) => {
        const text = row.cells[column].textContent;
        return [row, isNumber ? number(text) : text];
      });
      // What has no number stands last, whichever way.
      rows.sort(([, a], [, b]) => {
        if (!isNumber) return rising ? order(a, b) : order(b, a);
        if (isNaN(a) || isNaN(b)) return isNaN(a) - isNaN(b);
        return rising ? a - b : b - a;
      });
      body.append(...rows.map(([row]) => row));
    });
  });
}
function filterable(holder, table) {
  const rows = [...table.tBodies[0].rows];
  if (rows.length < 8) return;
  const name = table.caption ? table.caption.textContent : 'this table';
  const input = make('input', { type: 'search', placeholder: 'filter rows', 'aria-label': `Filter rows of ${name}` });
  const count = make('span', { role: 'status' }, `${rows.length} rows`);
  input.addEventListener('input', () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = shown === rows.length ? `${shown} rows` : `${shown} of ${rows.length} rows`;
  });
  const bar = make('div', { class: 'bar-of-table' });
  bar.append(input, count);
  holder.before(bar);
}
for (const holder of document.querySelectorAll('.t')) {
  const table = holder.querySelector('table');
  sortable(table);
  filterable(holder, table);
}

// 2. Plots: hover, arrow keys, a legend that hides series, values as a list.
const tip = document.getElementById('tip');
function interactive(figure, plot) {
  let marks;
  const all = () => (marks ??= [...plot.querySelectorAll('title')].map((title) => {
    const node = title.parentNode;
    const box = node.getBBox();
    const text = title.textContent;
    title.remove();
    return { node, text, x: box.x + box.width / 2, y: box.y + box.height / 2 };
  }));
  let at = -1;
  const show = (index) => {
    if (at >= 0) all()[at].node.classList.remove('at');
    at = index;
    tip.hidden = index < 0;
    if (index < 0) return;
    const mark = all()[index];
    mark.node.classList.add('at');
    tip.textContent = mark.text;
    const matrix = plot.getScreenCTM();
    const x = mark.x * matrix.a + matrix.e;
    const y = mark.y * matrix.d + matrix.f;
    const width = tip.offsetWidth;
    tip.style.left = `${Math.max(4, Math.min(x + 10, innerWidth - width - 4))}px`;
    tip.style.top = `${y > tip.offsetHeight + 14 ? y - tip.offsetHeight - 10 : y + 14}px`;
  };
  const shown = (mark) => !mark.node.classList.contains('off');
  plot.addEventListener('pointermove', (event) => {
    const matrix = plot.getScreenCTM().inverse();
    const x = event.clientX * matrix.a + matrix.e;
    const y = event.clientY * matrix.d + matrix.f;
    let best = -1;
    let least = 24 * 24;
    all().forEach((mark, index) => {
      const box = mark.node.tagName === 'rect' ? mark.node.getBBox() : null;
      const inside = box && x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;
      const far = inside ? 0 : box ? Infinity : (mark.x - x) ** 2 + (mark.y - y) ** 2;
      if (far < least && shown(mark)) [best, least] = [index, far];
    });
    if (best !== at) show(best);
  });
  plot.addEventListener('pointerleave', () => show(-1));
  plot.addEventListener('blur', () => show(-1));
  plot.setAttribute('tabindex', '0');
  // No picture any more: its legend can be pressed.
  plot.setAttribute('role', 'group');
  plot.setAttribute('aria-label', `${plot.getAttribute('aria-label')}. Arrow keys step through its values.`);
  plot.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === 'Escape') show(-1);
    if (!step || !all().some(shown)) return;
    event.preventDefault();
    let next = at;
    do next = (next + step + all().length) % all().length; while (!shown(all()[next]));
    show(next);
  });
  for (const key of plot.querySelectorAll('.key')) {
    const toggle = () => {
      const hidden = key.classList.toggle('dim');
      key.setAttribute('aria-pressed', String(!hidden));
      for (const node of plot.querySelectorAll(`.of${key.dataset.s}`)) node.classList.toggle('off', hidden);
      show(-1);
    };
    for (const [name, value] of [['tabindex', '0'], ['role', 'button'], ['aria-pressed', 'true']]) key.setAttribute(name, value);
    key.addEventListener('click', toggle);
    key.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); toggle(); }
    });
  }
  if (plot.classList.contains('narrow')) return;
  const details = make('details');
  details.append(make('summary', {}, 'Values of this plot'));
  figure.append(details);
  details.addEventListener('toggle', () => {
    if (!details.open || details.querySelector('ul')) return;
    const list = make('ul');
    list.append(...all().map((mark) => make('li', {}, mark.text)));
    details.append(list);
  });
}
for (const figure of document.querySelectorAll('figure')) {
  for (const plot of figure.querySelectorAll('svg')) interactive(figure, plot);
}

// 3. The slices behind a number.
const samples = JSON.parse(document.getElementById('samples').textContent);
const raw = document.getElementById('raw');
const spoken = (ns) => {
  const [unit, size] = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]].find(([, size]) => ns >= size) ?? ['ns', 1];
  return `${(ns / size).toPrecision(3)} ${unit}`;
};
function distribution({ t: trials, i: [low, middle, high] }) {
  const values = trials.flat();
  const [least, most] = [Math.min(...values, low), Math.max(...values, high)];
  const room = (most - least) * 0.06 || most * 0.01;
  const [left, right, top, bottom, side] = [76, 560, 12, 300, 700];
  const x = (index) => left + ((index + 0.5) / values.length) * (right - left);
  const y = (value) => bottom - ((value - least + room) / (most - least + 2 * room)) * (bottom - top);
  const plot = svg('svg', { class: 'plot', viewBox: '0 0 720 340', role: 'img', 'aria-label': 'Slices in the order in which they ran, and how often each time was seen' });
  const text = (at, up, kind, words) => {
    const node = svg('text', { x: at, y: up, class: kind });
    node.textContent = words;
    plot.append(node);
  };
  plot.append(svg('rect', { x: left, y: y(high), width: right - left, height: Math.max(1, y(low) - y(high)), class: 's2', 'fill-opacity': 0.18, 'stroke-opacity': 0 }));
  plot.append(svg('path', { class: 'line s2', d: `M${left} ${y(middle)}H${side}` }));
  for (const value of [least, (least + most) / 2, most]) {
    plot.append(svg('path', { class: 'grid', d: `M${left} ${y(value)}H${side}` }));
    text(left - 6, y(value) + 4, 'end soft', spoken(value));
  }
  let index = 0;
  trials.forEach((trial, number) => {
    if (number) plot.append(svg('path', { class: 'grid', d: `M${x(index - 0.5)} ${top}V${bottom}` }));
    for (const value of trial) plot.append(svg('use', { href: `#m${number % 4}`, x: x(index++), y: y(value), class: `s${number % 8}` }));
  });
  const bins = new Array(24).fill(0);
  for (const value of values) bins[Math.min(23, Math.floor(((value - least) / (most - least || 1)) * 24))] += 1;
  const fullest = Math.max(...bins);
  bins.forEach((count, bin) => {
    const [from, to] = [y(least + ((most - least) * bin) / 24), y(least + ((most - least) * (bin + 1)) / 24)];
    plot.append(svg('rect', { class: 'bar s0', x: right + 12, y: to, width: (count / fullest) * (side - right - 12), height: Math.max(1, from - to - 1) }));
  });
  text((left + right) / 2, 330, 'mid soft', 'slices in the order they ran; lines part the trials');
  text((right + side) / 2 + 6, 330, 'mid soft', 'how often');
  return plot;
}
function open(sample) {
  raw.replaceChildren(make('h2', { id: 'raw-title' }, sample.n));
  const kept = sample.t.flat().length;
  const [low, middle, high] = sample.i;
  const some = kept < sample.m ? `${kept} of ${sample.m} slices` : `${kept} slices`;
  raw.append(distribution(sample));
  raw.append(make('p', {}, `${spoken(middle)}, interval ${spoken(low)} to ${spoken(high)} (green). ${some} of ${sample.t.length} trials are shown; the run keeps all.`));
  const close = make('button', { type: 'button' }, 'Close');
  close.addEventListener('click', () => raw.close());
  raw.append(close);
  raw.showModal();
}
document.addEventListener('click', (event) => {
  const button = event.target.closest('button[data-raw]');
  if (button) open(samples[Number(button.dataset.raw)]);
});

// 4. Commands.
for (const holder of document.querySelectorAll('.c')) {
  const code = holder.querySelector('code');
  const button = make('button', { type: 'button', 'aria-label': `Copy: ${code.textContent}` }, 'Copy');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      getSelection().selectAllChildren(code);
      document.execCommand('copy');
    }
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
  holder.append(button);
}
document.documentElement.dataset.ready = String(Math.round(performance.now()));
