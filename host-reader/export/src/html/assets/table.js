// A table that is sorted, filtered and read by keyboard, and draws only the rows in sight.

const ROW_HEIGHT = 26;
const ROWS_AROUND = 12;
/** Pixels that the longest and the shortest names of ops get. */
const LONGEST_NAME = 360, SHORTEST_NAME = 160;

/** Classes of a column's cells. Spare ones are left out where the table is narrow. */
const kindOf = (column) => `${column.isText ? '' : '.number'}${column.isSpare ? '.spare' : ''}`;

/** A cell; a text that may be cut is told whole by its title, if nothing in it has another. */
function cellOf(column, row) {
  const cell = h(`td${kindOf(column)}`, {}, column.show(row));
  if (!cell.querySelector('[title]')) cell.title = cell.textContent;
  return cell;
}

/** The width of a column that holds these names whole, unless they are very long. */
function widthOfNames(names) {
  const surface = document.createElement('canvas').getContext('2d');
  const { fontSize, fontFamily } = getComputedStyle(document.body);
  surface.font = `${fontSize} ${fontFamily}`;
  const longest = maximum(names.map((name) => surface.measureText(name).width));
  // Digits of tables are a little wider than those that were measured.
  return Math.ceil(Math.min(LONGEST_NAME, Math.max(SHORTEST_NAME, longest * 1.08)) + 22);
}

class Table {
  /**
   * `columns`: label, title, width, value (to sort by; numbers sort downwards first), show
   * (text or an element), isText, isSpare, hasBar. `rows` are indices, `noun` says of what, one and many.
   * `search` gives the text to filter by.
   */
  constructor({ label, columns, rows, search, sort, onOpen, onPick, height = 420, minWidth = 640, placeholder, noun }) {
    Object.assign(this, { columns, all: rows, search, onOpen, onPick, noun });
    this.sort = sort ?? { column: 0, isDown: false };
    this.picked = -1;
    this.focused = 0;
    this.body = h('tbody');
    this.headings = columns.map((column, index) => this.heading(column, index));
    const widths = h('colgroup', {}, columns.map((column) => h(`col${column.isSpare ? '.spare' : ''}${column.hasBar ? '.barred' : ''}`, { style: { width: column.width } })));
    this.scroller = h('div.scroller', { onscroll: () => this.draw(), role: 'region', 'aria-label': label, tabIndex: -1 },
      h('table', {}, h('caption.unseen', {}, label), widths, h('thead', {}, h('tr', {}, this.headings)), this.body));
    this.scroller.querySelector('table').style.minWidth = `${minWidth}px`;
    this.scroller.style.maxHeight = `${height}px`;
    this.body.addEventListener('keydown', (event) => this.onKey(event));
    this.body.addEventListener('click', (event) => this.onClick(event));
    this.count = h('span.muted', { 'aria-live': 'polite' });
    this.filter = search && h('input', {
      type: 'search', placeholder, 'aria-label': placeholder, spellcheck: false,
      oninput: () => this.refresh(),
    });
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.scroller);
    unit.listeners.push(() => this.draw());
    this.refresh();
  }
  heading(column, index) {
    const button = h('button', { type: 'button', title: column.title ?? '', onclick: () => this.sortBy(index) }, column.label);
    return h(`th${kindOf(column)}`, { scope: 'col' }, button);
  }
  sortBy(index) {
    const isSame = this.sort.column === index;
    this.sort = { column: index, isDown: isSame ? !this.sort.isDown : !this.columns[index].isText };
    this.refresh();
  }
  refresh() {
    const words = this.filter ? this.filter.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
    const isWanted = (row) => {
      const text = this.search(row).toLowerCase();
      return words.every((word) => text.includes(word));
    };
    this.rows = words.length ? this.all.filter(isWanted) : [...this.all];
    const { value } = this.columns[this.sort.column];
    const sign = this.sort.isDown ? -1 : 1;
    const keys = new Map(this.rows.map((row) => [row, value(row)]));
    const order = (one, other) => {
      const [a, b] = [keys.get(one), keys.get(other)];
      // What is unknown comes last, whichever way.
      if (a === null || b === null) return (a === null) - (b === null);
      return sign * (typeof a === 'string' ? a.localeCompare(b, 'en', { numeric: true }) : a - b) || one - other;
    };
    this.rows.sort(order);
    this.headings.forEach((heading, index) => {
      const isSorted = index === this.sort.column;
      heading.setAttribute('aria-sort', isSorted ? (this.sort.isDown ? 'descending' : 'ascending') : 'none');
    });
    const isCut = this.rows.length < this.all.length;
    this.count.textContent = isCut
      ? `${grouped(this.rows.length)} of ${counted(this.all.length, ...this.noun)}`
      : counted(this.all.length, ...this.noun);
    this.focused = Math.max(0, Math.min(this.focused, this.rows.length - 1));
    this.draw();
  }
  draw() {
    const height = this.scroller.clientHeight || 420;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW_HEIGHT) - ROWS_AROUND);
    const last = Math.min(this.rows.length, first + Math.ceil(height / ROW_HEIGHT) + 2 * ROWS_AROUND);
    const hadFocus = this.body.contains(document.activeElement);
    const shown = [];
    for (let place = first; place < last; place++) shown.push(this.row(place));
    const space = (rows) => {
      const filler = h('tr.space', { 'aria-hidden': 'true' });
      filler.style.height = `${rows * ROW_HEIGHT}px`;
      return filler;
    };
    this.body.replaceChildren(space(first), ...shown, space(this.rows.length - last));
    if (!this.rows.length) this.body.replaceChildren(h('tr.empty', {}, h('td', { colSpan: this.columns.length }, this.all.length ? 'Nothing fits the filter.' : 'None.')));
    if (hadFocus) this.body.querySelector('[tabindex="0"]')?.focus({ preventScroll: true });
  }
  row(place) {
    const row = this.rows[place];
    const cells = this.columns.map((column) => cellOf(column, row));
    const element = h('tr', { tabIndex: place === this.focused ? 0 : -1 }, cells);
    element.dataset.place = place;
    if (row === this.picked) element.setAttribute('aria-selected', 'true');
    return element;
  }
  onClick(event) {
    const element = event.target.closest('tr[data-place]');
    if (!element) return;
    this.focused = Number(element.dataset.place);
    const row = this.rows[this.focused];
    if (event.target.closest('button.open')) this.onOpen?.(row);
    else this.onPick?.(row);
  }
  onKey(event) {
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW_HEIGHT) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps) {
      event.preventDefault();
      this.focusOn(this.focused + steps[event.key]);
    } else if (event.key === 'Enter' && event.target.tagName === 'TR') {
      this.onOpen?.(this.rows[this.focused]);
    } else if (event.key === ' ' && event.target.tagName === 'TR') {
      event.preventDefault();
      this.onPick?.(this.rows[this.focused]);
    }
  }
  focusOn(place) {
    this.focused = Math.max(0, Math.min(this.rows.length - 1, place));
    this.reveal(this.focused);
    this.draw();
    this.body.querySelector('[tabindex="0"]')?.focus({ preventScroll: true });
    this.onPick?.(this.rows[this.focused]);
  }
  reveal(place) {
    const top = place * ROW_HEIGHT, head = this.scroller.querySelector('thead').offsetHeight;
    const height = this.scroller.clientHeight - head;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top + ROW_HEIGHT > this.scroller.scrollTop + height) this.scroller.scrollTop = top + ROW_HEIGHT - height;
  }
  /** Marks a row as the chosen one, and shows it if it is among those that fit the filter. */
  pick(row) {
    this.picked = row;
    const place = this.rows.indexOf(row);
    if (place >= 0) {
      this.focused = place;
      this.reveal(place);
    }
    this.draw();
  }
}
