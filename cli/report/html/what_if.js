// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Sliders of a capacity page: price, tokens, imbalance of experts. Days stand in the page for some
// values of tokens and imbalance, and between them a line is drawn; dollars are days times price.
'use strict';
(() => {
  const root = document.getElementById('what-if');
  const asked = JSON.parse(document.getElementById('what-if-data').textContent);
  const amount = (value) => {
    const units = [[1e12, 'T'], [1e9, 'B'], [1e6, 'M'], [1e3, 'k'], [1, '']];
    const [unit, name] = units.find(([u]) => value >= u) || units[4];
    return Number((value / unit).toPrecision(3)) + name;
  };
  const money = (dollars) => amount(dollars) + ' USD';

  // Between the two known values around x: where it lies, from 0 to 1.
  const place = (values, x) => {
    let i = 0;
    while (i + 2 < values.length && values[i + 1] < x) ++i;
    if (values.length < 2) return [0, 0, 0];
    return [i, i + 1, Math.min(1, Math.max(0, (x - values[i]) / (values[i + 1] - values[i])))];
  };
  const mix = (a, b, share) => share === 0 ? a : share === 1 ? b
    : a === null || b === null ? null : a + (b - a) * share;
  // Days of an offer; null: it cannot be run, or its plan does not fit.
  const daysOf = (offer, state) => {
    const [a, b, up] = place(asked.imbalance, state.imbalance);
    const [c, d, along] = place(asked.tokens, state.tokens);
    if (!offer.fits[a] || (up > 0 && !offer.fits[b])) return null;
    const at = (i) => mix(offer.days[i][c], offer.days[i][d], along);
    return mix(at(a), up > 0 ? at(b) : null, up);
  };

  const state = { tokens: asked.at_tokens, imbalance: asked.at_imbalance,
    prices: asked.clusters.map((c) => c.price) };
  const element = (tag, text, parent) => {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    (parent || root).append(made);
    return made;
  };
  const sliders = element('div');
  sliders.className = 'sliders';
  const resets = [];
  // `shown` writes a value; `take` stores it.
  const slider = (name, least, most, step, value, shown, take) => {
    const label = element('label', name + ' ', sliders);
    const output = element('output', shown(value), label);
    const input = element('input', '', label);
    Object.assign(input, { type: 'range', min: least, max: most, step, value });
    input.id = 'slider-' + name.replaceAll(/[^a-z0-9]+/gi, '-');
    const moved = () => {
      // Where the slider stands as at first, the value is what was asked for, to the last digit.
      const taken = Number(input.value) === first ? value : Number(input.value);
      output.textContent = shown(taken);
      input.setAttribute('aria-valuetext', output.textContent);
      take(taken);
    };
    const first = Number(input.value);
    input.addEventListener('input', () => { moved(); update(); });
    resets.push(() => { input.value = value; moved(); });
    moved();
  };
  const tokens = (power) => asked.at_tokens * 2 ** power;
  const powers = Math.log2(asked.tokens.at(-1) / asked.at_tokens);
  slider('tokens', -powers, powers, 0.05, 0, (p) => amount(tokens(p)),
    (p) => { state.tokens = tokens(p); });
  if (asked.imbalance.length > 1) {
    slider('busiest rank over the mean', asked.imbalance[0], asked.imbalance.at(-1), 0.01,
      asked.at_imbalance, (v) => v.toFixed(2), (v) => { state.imbalance = v; });
  }
  asked.clusters.forEach((cluster, i) => {
    slider('USD per GPU-hour of ' + cluster.name, cluster.price / 5, cluster.price * 3,
      cluster.price / 100, cluster.price, (v) => v.toFixed(2), (v) => { state.prices[i] = v; });
  });
  const reset = element('button', 'as asked', sliders);
  reset.type = 'button';
  const verdict = element('p');
  verdict.id = 'what-if-answer';
  verdict.setAttribute('aria-live', 'polite');
  const box = element('div');
  box.className = 'scroll';
  const table = element('table', '', box);
  const chart = element('div');
  chart.className = 'what-if-chart';
  chart.setAttribute('role', 'img');
  chart.setAttribute('aria-label', 'Days against dollars of every offer, with these values');

  const priced = () => {
    const list = asked.offers.map((offer) => {
      const days = daysOf(offer, state);
      return { offer, days, cluster: asked.clusters[offer.cluster].name,
        dollars: days === null ? null : days * 24 * offer.paid * state.prices[offer.cluster] };
    });
    const can = list.filter((o) => o.days !== null);
    const fits = can.filter((o) => (asked.deadline === null || o.days <= asked.deadline)
      && (asked.budget === null || o.dollars <= asked.budget));
    const least = (of, by) => of.reduce((best, o) => best && best[by] <= o[by] ? best : o, null);
    let cheapest = Infinity;
    const front = [...can].sort((a, b) => a.days - b.days || a.dollars - b.dollars)
      .filter((o) => o.dollars < cheapest && ((cheapest = o.dollars), true));
    return { list, can, front, cheapest: least(fits, 'dollars'), fastest: least(fits, 'days') };
  };
  const named = (o) => `${o.offer.gpus} x ${o.cluster}`;
  const sentence = (o) => `${named(o)}, ${o.days.toFixed(1)} days, ${money(o.dollars)}`;

  const showTable = ({ list, front, cheapest, fastest }) => {
    table.replaceChildren();
    const head = table.createTHead().insertRow();
    for (const [title, left] of [['', true], ['cluster', true], ['GPUs'], ['paid'],
      ['days ' + asked.confidence], ['USD ' + asked.confidence]]) {
      const cell = element('th', title, head);
      cell.scope = 'col';
      if (left) cell.className = 'l';
    }
    const body = table.createTBody();
    for (const o of list) {
      const row = body.insertRow();
      const marks = [o === cheapest && asked.deadline !== null && 'cheapest in time',
        o === fastest && asked.budget !== null && 'fastest within the budget',
        front.includes(o) && 'front'].filter(Boolean);
      [marks.join(', '), o.cluster, o.offer.gpus, o.offer.paid,
        o.days === null ? 'does not fit' : o.days.toFixed(1),
        o.days === null ? '' : amount(o.dollars)].forEach((text, i) => {
        const cell = row.insertCell();
        cell.textContent = text;
        if (i < 2) cell.className = 'l';
      });
    }
  };

  const showChart = ({ can, front, cheapest }) => {
    if (typeof Plotly === 'undefined') return;
    const points = (name, list, more) => Object.assign({ type: 'scatter', mode: 'markers', name,
      x: list.map((o) => o.days), y: list.map((o) => o.dollars / asked.unit),
      text: list.map(named) }, more);
    const data = [points('front', front, { mode: 'lines+markers', marker: { color: '#8c959f' } })];
    asked.clusters.forEach((c, i) => data.push(points(c.name,
      can.filter((o) => o.offer.cluster === i), { marker: { color: c.colour } })));
    if (cheapest && asked.deadline !== null) {
      data.push(points('cheapest in time', [cheapest],
        { marker: { color: '#2da44e', symbol: 'star', size: 13 } }));
    }
    const narrow = window.innerWidth < 600;
    const line = { type: 'line', line: { dash: 'dash', width: 1.5, color: '#57606a' } };
    const shapes = [];
    if (asked.deadline !== null) {
      shapes.push({ ...line, x0: asked.deadline, x1: asked.deadline, y0: 0, y1: 1, yref: 'paper' });
    }
    if (asked.budget !== null) {
      const y = asked.budget / asked.unit;
      shapes.push({ ...line, y0: y, y1: y, x0: 0, x1: 1, xref: 'paper' });
    }
    // As the chart of the offers as asked: logarithmic where values differ fivefold.
    const axis = (title, values, limit) => {
      const all = limit === null ? values : [...values, limit];
      const far = Math.max(...all) > 5 * Math.min(...all);
      return { title: { text: title }, automargin: true, type: far ? 'log' : 'linear' };
    };
    Plotly.react(chart, data, { height: 380, shapes, hovermode: 'closest',
      margin: { l: narrow ? 48 : 64, r: 12, t: 12, b: 44 },
      font: { family: 'system-ui, sans-serif', size: narrow ? 11 : 12 },
      legend: { orientation: 'h', yanchor: 'bottom', y: 1.01, x: 0 },
      xaxis: axis(`days (${asked.confidence})`, can.map((o) => o.days), asked.deadline),
      yaxis: axis(`${asked.unit_name} (${asked.confidence})`,
        can.map((o) => o.dollars / asked.unit),
        asked.budget === null ? null : asked.budget / asked.unit) },
    { responsive: true, displaylogo: false, displayModeBar: false });
  };

  const update = () => {
    const now = priced();
    const words = [];
    if (asked.deadline !== null && now.cheapest) {
      words.push('Cheapest in time: ' + sentence(now.cheapest));
    }
    if (asked.budget !== null && now.fastest) {
      words.push('Fastest within the budget: ' + sentence(now.fastest));
    }
    if (!now.cheapest) words.push('No offer meets the goals with these values.');
    verdict.textContent = words.join('\n');
    showTable(now);
    showChart(now);
  };
  reset.addEventListener('click', () => { resets.forEach((f) => f()); update(); });
  update();
})();
