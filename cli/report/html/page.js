// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Draws a report's charts with Plotly and makes its tables sort and filter.
'use strict';
(() => {
  const drawChart = (node) => {
    const figure = JSON.parse(document.getElementById(node.id + '-figure').textContent);
    const narrow = window.innerWidth < 600;
    const layout = Object.assign({
      height: Number(node.dataset.height),
      margin: { l: narrow ? 48 : 64, r: narrow ? 12 : 40, t: 12, b: 44 },
      font: { family: 'system-ui, sans-serif', size: narrow ? 11 : 12 },
      legend: { orientation: 'h', yanchor: 'bottom', y: 1.01, x: 0, traceorder: 'normal' },
      modebar: { orientation: 'v' },
      hoverlabel: { namelength: -1 },
    }, figure.layout);
    // Long names leave no room for bars on a narrow screen; hovering still shows them whole.
    for (const axis of [layout.xaxis, layout.yaxis]) {
      const names = axis && axis.categoryarray;
      if (!narrow || !names) continue;
      axis.tickvals = names;
      axis.ticktext = names.map((name) => name.length > 22 ? name.slice(0, 21) + '\u2026' : name);
    }
    const config = { responsive: true, displaylogo: false };
    if (narrow) config.displayModeBar = false;
    return Plotly.newPlot(node, figure.data, layout, config);
  };

  // 1,234.5 and 12 % are numbers; the rest is text.
  const numberOf = (text) => {
    const found = /^[+-]?[\d,]*\.?\d+(e[+-]?\d+)?/i.exec(text.trim());
    return found ? Number(found[0].replaceAll(',', '')) : NaN;
  };
  const matches = (text, filter) => {
    const bound = /^(<=|>=|<|>|=)\s*([+-]?[\d.]+)$/.exec(filter);
    if (!bound) return text.toLowerCase().includes(filter.toLowerCase());
    const value = numberOf(text), limit = Number(bound[2]);
    switch (bound[1]) {
      case '<': return value < limit;
      case '<=': return value <= limit;
      case '>': return value > limit;
      case '>=': return value >= limit;
      default: return value === limit;
    }
  };

  const setUpTable = (table) => {
    const titles = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    const filters = [];
    titles.forEach((cell, column) => {
      const title = cell.textContent;
      if (title === '') return;
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = title;
      button.title = 'sort';
      button.addEventListener('click', () => {
        const down = cell.getAttribute('aria-sort') === 'ascending';
        titles.forEach((other) => other.removeAttribute('aria-sort'));
        cell.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const order = (a, b) => {
          const x = a.cells[column].textContent, y = b.cells[column].textContent;
          const p = numberOf(x), q = numberOf(y);
          const difference = isNaN(p) || isNaN(q) ? x.localeCompare(y) : p - q;
          return down ? -difference : difference;
        };
        body.append(...[...body.rows].sort(order));
      });
      cell.replaceChildren(button);
      if (!table.classList.contains('filters')) return;
      const field = document.createElement('input');
      field.type = 'search';
      field.setAttribute('aria-label', 'filter ' + title);
      filters.push([column, field]);
      cell.append(field);
    });
    if (filters.length === 0) return;
    const count = document.createElement('div');
    count.className = 'count';
    table.parentElement.before(count);
    const apply = () => {
      let shown = 0;
      for (const row of body.rows) {
        const fits = filters.every(([column, field]) =>
          field.value === '' || matches(row.cells[column].textContent, field.value.trim()));
        row.classList.toggle('hidden', !fits);
        if (fits) ++shown;
      }
      count.textContent = `${shown} of ${body.rows.length} rows`;
    };
    filters.forEach(([, field]) => field.addEventListener('input', apply));
    apply();
  };

  document.querySelectorAll('table').forEach(setUpTable);
  const charts = [...document.querySelectorAll('.chart')];
  const drawn = typeof Plotly === 'undefined' ? [] : charts.map(drawChart);
  Promise.all(drawn).then(() => { document.body.dataset.charts = String(drawn.length); });
})();
