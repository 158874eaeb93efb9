// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The page of `pleat serve`. Its state is the words of a command line: what is typed in the fields
// on the left, and `shape`, the options of the plan that differ from a plain one. The address's
// fragment holds them, so that a link gives the state again.
'use strict';
(() => {
  const at = (id) => document.getElementById(id);
  const token = new URLSearchParams(location.search).get('token') || '';
  const kTarget = ['model', 'cluster', 'gpus', 'seq-len', 'global-batch'];
  const kDegrees = ['tp', 'cp', 'pp', 'vpp', 'ep', 'etp', 'micro-batch'];
  const kChoices = ['precision', 'schedule', 'sharding', 'dispatcher', 'cuda-graph', 'optimizer'];
  const kModules = { recompute: [], offload: [] };
  const shape = new Map();   // 'tp' -> '2', a switch -> true
  const controls = new Map();  // 'tp' -> (value or undefined) => shows it
  let options = [];

  // --- questions ---------------------------------------------------------------------------------
  const ask = async (path, body, signal) => {
    const answer = await fetch(path, {
      method: body ? 'POST' : 'GET', signal,
      headers: { 'X-Pleat-Token': token, 'Content-Type': 'application/json' },
      body: body && JSON.stringify(body),
    });
    if (answer.status === 403) throw new Error(await answer.text());
    const json = await answer.json();
    if (json.problem) throw new Error(json.problem);
    return json;
  };
  const targetWords = () => {
    const words = [];
    for (const id of kTarget) {
      if (at(id).value.trim() !== '') words.push('--' + id, at(id).value.trim());
    }
    if (at('tokens').value.trim() !== '') words.push('--tokens', at('tokens').value.trim());
    return words;
  };
  const shapeWords = () => [...shape].flatMap(([name, value]) =>
    value === true ? ['--' + name] : ['--' + name, value]);

  // --- showing -----------------------------------------------------------------------------------
  // Layers that cannot be split evenly come with a layout that can be taken.
  const problem = (text) => {
    at('problem').hidden = !text;
    at('problem').textContent = text || '';
    const balanced = /balanced layout: (\S+)/.exec(text || '');
    at('balance').hidden = !balanced;
    at('balance').onclick = () => set('layout', balanced[1]);
  };
  const draw = (id, figure, height) => {
    if (typeof Plotly === 'undefined') return;
    const narrow = window.innerWidth < 600;
    const layout = Object.assign({
      height, margin: { l: narrow ? 52 : 70, r: 16, t: 12, b: 44 },
      font: { family: 'system-ui, sans-serif', size: narrow ? 11 : 12 },
      legend: { orientation: 'h', yanchor: 'bottom', y: 1.01, x: 0, traceorder: 'normal' },
      hoverlabel: { namelength: -1 },
    }, figure.layout);
    Plotly.react(at(id), figure.data, layout,
                 { responsive: true, displaylogo: false, displayModeBar: false });
  };
  const table = (id, titles, rows) => {
    const head = document.createElement('tr');
    for (const title of titles) {
      const cell = document.createElement('th');
      cell.scope = 'col';
      cell.textContent = title;
      head.append(cell);
    }
    const lines = rows.map((row) => {
      const line = document.createElement('tr');
      for (const value of row) {
        const cell = document.createElement('td');
        cell.append(value);
        line.append(cell);
      }
      return line;
    });
    at(id).replaceChildren(head, ...lines);
  };
  const takeButton = (words, what) => {
    if (!words) return '';
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Take';
    button.setAttribute('aria-label', 'Take: ' + what);
    button.addEventListener('click', () => { takeShape(words); changed(); });
    return button;
  };
  const showFacts = (facts) => {
    at('facts').replaceChildren(...facts.map(({ name, value }) => {
      const box = document.createElement('div');
      const title = document.createElement('dt'), text = document.createElement('dd');
      title.textContent = name;
      text.textContent = value;
      box.append(title, text);
      return box;
    }));
  };

  // --- the answer to each change -----------------------------------------------------------------
  let asked = 0, detailsTimer = 0;
  const predict = async () => {
    const mine = ++asked;
    const words = [...targetWords(), ...shapeWords()];
    document.querySelector('section').classList.add('stale');
    try {
      const answer = await ask('/api/predict', { words });
      if (mine !== asked) return;
      problem('');
      showFacts(answer.facts);
      at('summary').textContent = answer.summary;
      at('bound').textContent = '';
      at('command').textContent = answer.command;
      at('refusal').hidden = !answer.refusal;
      at('refusal').textContent = answer.refusal;
      at('assumed').textContent = answer.assumed;
      draw('memory', answer.figures.memory, 320);
      draw('breakdown', answer.figures.breakdown, 200);
      document.querySelector('section').classList.remove('stale');
      document.body.dataset.answers = String(mine);
      clearTimeout(detailsTimer);
      detailsTimer = setTimeout(() => details(mine, words), 250);
    } catch (e) {
      if (mine === asked) problem(e.message);
    }
  };
  const details = async (mine, words) => {
    try {
      const answer = await ask('/api/details', { words });
      if (mine !== asked) return;
      at('bound').textContent = answer.bound;
      draw('timeline', answer.timeline, Math.min(900, 130 + 30 * answer.stages));
      at('timeline-note').textContent = answer.timeline_note;
      table('changes', ['change', 'step', 'faster by', 'memory', ''], answer.changes.map((c) =>
        [c.text + (c.arithmetic ? ' (other number formats)' : ''), c.step, c.gain,
         c.more_memory + (c.fits ? '' : ': does not fit'), takeButton(c.words, c.text)]));
      document.body.dataset.details = String(mine);
    } catch (e) {
      if (mine === asked) problem(e.message);
    }
  };

  // --- the search --------------------------------------------------------------------------------
  let searching = null;
  const search = async () => {
    if (searching) searching.abort();
    const mine = searching = new AbortController();
    const words = targetWords();
    for (const name of ['precision']) if (shape.has(name)) words.push('--' + name, shape.get(name));
    if (at('pareto').checked) words.push('--pareto');
    at('found').hidden = false;
    at('proof').textContent = 'searching …';
    at('best').replaceChildren();
    try {
      const answer = await fetch('/api/plan', {
        method: 'POST', signal: mine.signal, body: JSON.stringify({ words }),
        headers: { 'X-Pleat-Token': token, 'Content-Type': 'application/json' },
      });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      for (;;) {
        const { value, done } = await reader.read();
        text += value || '';
        const lines = text.split('\n');
        text = lines.pop();
        for (const line of lines) showSearch(JSON.parse(line));
        if (done) break;
      }
    } catch (e) {
      if (e.name !== 'AbortError') at('proof').textContent = e.message;
    } finally {
      if (searching === mine) searching = null;
    }
  };
  const showSearch = (line) => {
    if (line.problem) {
      at('proof').textContent = line.problem;
    } else if (!line.best || typeof line.best === 'string') {
      at('proof').textContent = `${line.priced} plans priced in ${line.seconds.toFixed(1)} s` +
        (line.best ? `, the best ${line.best}` : '');
    } else {
      at('proof').textContent = line.proof;
      table('best', ['step', 'MFU', 'memory', 'plan', ''], line.best.map((p) =>
        [p.step, p.mfu, p.memory, p.summary, takeButton(p.words, p.summary)]));
      at('front').hidden = !line.front;
      if (line.front) draw('front', line.front, 320);
      if (line.best[0].words) { takeShape(line.best[0].words); changed(); }
      document.body.dataset.found = '1';
    }
  };

  // --- the state ---------------------------------------------------------------------------------
  const takeShape = (words) => {
    shape.clear();
    for (let i = 0; i < words.length; ++i) {
      const name = words[i].replace(/^--/, '');
      const option = options.find((o) => o.name === name);
      shape.set(name, option && option.kind === 'switch' ? true : words[++i]);
    }
    showControls();
  };
  const showControls = () => controls.forEach((show, name) => show(shape.get(name)));
  const set = (name, value) => {
    if (value === '' || value === false || value === undefined) shape.delete(name);
    else shape.set(name, value);
    showControls();
    changed();
  };
  const stateText = () => JSON.stringify([...kTarget.map((id) => at(id).value), at('tokens').value,
                                          ...shapeWords()]);
  let timer = 0;
  const changed = () => {
    history.replaceState(null, '', '#' + encodeURIComponent(stateText()));
    clearTimeout(timer);
    timer = setTimeout(predict, 30);
  };
  const readState = () => {
    try {
      const values = JSON.parse(decodeURIComponent(location.hash.slice(1)));
      kTarget.forEach((id, i) => { at(id).value = values[i]; });
      at('tokens').value = values[kTarget.length];
      takeShape(values.slice(kTarget.length + 1));
    } catch (e) {  // no state in the address
      for (const [name, value] of [['pp', '2'], ['vpp', '4'], ['ep', '8']]) shape.set(name, value);
    }
  };

  // --- controls ----------------------------------------------------------------------------------
  const labelled = (name, help, ...parts) => {
    const label = document.createElement('label');
    label.title = help;
    label.append(name, ...parts);
    return label;
  };
  const addSlider = (option) => {
    const slider = document.createElement('input'), shown = document.createElement('output');
    Object.assign(slider, { type: 'range', min: 0, max: 10, step: 1, value: 0 });
    slider.id = 'option-' + option.name;
    slider.addEventListener('input', () => {
      const value = 2 ** Number(slider.value);
      set(option.name, value === 1 ? '' : String(value));
    });
    controls.set(option.name, (value) => {
      slider.value = Math.round(Math.log2(Number(value || 1)));
      shown.textContent = value || '1';
      slider.setAttribute('aria-valuetext', shown.textContent);
    });
    const label = labelled(option.name.toUpperCase(), option.help, slider, shown);
    label.className = 'slider';
    at('degrees').append(label);
  };
  const addSelect = (option, parent) => {
    const select = document.createElement('select');
    select.id = 'option-' + option.name;
    select.append(new Option('as usual', ''));
    for (const word of option.words) select.append(new Option(word, word));
    select.addEventListener('change', () => set(option.name, select.value));
    controls.set(option.name, (value) => {
      if (value && ![...select.options].some((o) => o.value === value)) {
        select.append(new Option(value, value));
      }
      select.value = value || '';
    });
    parent.append(labelled(option.name, option.help, select));
  };
  const addSwitch = (option, parent) => {
    const box = document.createElement('input');
    box.type = 'checkbox';
    box.id = 'option-' + option.name;
    box.addEventListener('change', () => set(option.name, box.checked));
    controls.set(option.name, (value) => { box.checked = value === true; });
    parent.append(labelled(option.name, option.help, box));
  };
  const addField = (option, parent) => {
    const field = document.createElement('input');
    field.id = 'option-' + option.name;
    field.addEventListener('change', () => set(option.name, field.value.trim()));
    controls.set(option.name, (value) => { field.value = value || ''; });
    parent.append(labelled(option.name, option.help, field));
  };
  const addControls = () => {
    for (const name of kDegrees) addSlider(options.find((o) => o.name === name));
    for (const option of options) {
      if (kDegrees.includes(option.name)) continue;
      const parent = at(kChoices.includes(option.name) ? 'choices'
                      : option.name in kModules ? 'modules' : 'others');
      if (option.kind === 'switch') addSwitch(option, parent);
      else if (option.words.length > 0 && !(option.name in kModules)) addSelect(option, parent);
      else addField(option, parent);
    }
  };
  const copy = async (text, button) => {
    await navigator.clipboard.writeText(text);
    const before = button.textContent;
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = before; }, 1000);
  };

  const start = async () => {
    try {
      const all = await ask('/api/choices');
      at('version').textContent = all.version;
      at('models').replaceChildren(...all.models.map((name) => new Option(name, name)));
      at('clusters').replaceChildren(...all.clusters.map((name) => new Option(name, name)));
      options = all.options;
    } catch (e) { return problem(e.message); }
    addControls();
    readState();
    showControls();
    for (const id of [...kTarget, 'tokens']) at(id).addEventListener('change', changed);
    at('form').addEventListener('submit', (e) => { e.preventDefault(); changed(); });
    at('search').addEventListener('click', search);
    at('plain').addEventListener('click', () => { shape.clear(); showControls(); changed(); });
    at('copy-command').addEventListener('click', (e) => copy(at('command').textContent, e.target));
    at('copy-link').addEventListener('click', (e) => copy(location.href, e.target));
    window.addEventListener('hashchange', () => { readState(); predict(); });
    await predict();
    document.body.dataset.ready = '1';
  };
  start();
})();
