// Building the page. Names of logs only ever become text here, never markup.

/** An element: its tag with classes, its properties, its children. */
function h(tag, properties = {}, ...children) {
  const [name, ...classes] = tag.split('.');
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(' ');
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key === 'style') Object.assign(element.style, value);
    else if (key in element && !key.includes('-')) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An element of a drawing: its tag, its attributes, its children. Each template has one drawing, whose namespace is theirs. */
function drawn(tag, attributes, ...children) {
  const element = document.createElementNS(document.querySelector('svg').namespaceURI, tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

const byId = (id) => document.getElementById(id);

/** The heading row of a section. */
const headOf = (id) => byId(id).querySelector('.section-head');

/** A bar of a share from 0 to 1. */
function bar(share, className = '') {
  const fill = h(`i${className && `.${className}`}`);
  fill.hidden = !(share > 0);
  fill.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return h('span.bar', { 'aria-hidden': 'true' }, fill);
}

/** A choice of one among few. */
function choice(label, options, onChange) {
  const select = h('select', { 'aria-label': label, onchange: () => onChange(select.value) },
    options.map(([value, text]) => h('option', { value }, text)));
  return select;
}

/** The surface of a canvas at the screen's resolution, in units of the page. */
function surfaceOf(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [deviceWidth, deviceHeight] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== deviceWidth || canvas.height !== deviceHeight) {
    canvas.width = deviceWidth;
    canvas.height = deviceHeight;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const surface = canvas.getContext('2d');
  surface.setTransform(ratio, 0, 0, ratio, 0, 0);
  surface.clearRect(0, 0, width, height);
  return surface;
}
