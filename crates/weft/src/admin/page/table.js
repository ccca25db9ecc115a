
// A table that is sorted by the column whose head was pressed.
//
// Must not know what its rows mean. Invariants: a cell has text and nothing else; rows keep their elements from one second to the
// next.

class Table {
  /** `columns`: { key, label, title, text(row), value(row) } each; those with a value are numbers. `sort`: the first key. */
  constructor(parent, { label, columns, sort, empty }) {
    Object.assign(this, { columns, empty, sort, descending: false });
    this.descending = this.isDownwards(columns.find((one) => one.key === sort));
    this.rows = [];
    const heads = columns.map((column) => {
      const button = element("button", "", column.label);
      button.type = "button";
      if (column.title) button.title = column.title;
      button.addEventListener("click", () => this.sortBy(column));
      const head = element("th", column.value ? "number" : "", button);
      head.scope = "col";
      head.dataset.key = column.key;
      return head;
    });
    this.heads = heads;
    this.body = element("tbody");
    const table = element("table", "", element("thead", "", element("tr", "", ...heads)), this.body);
    table.setAttribute("aria-label", label);
    const frame = element("div", "frame", table);
    frame.tabIndex = 0;
    frame.setAttribute("role", "region");
    frame.setAttribute("aria-label", `${label}, a table`);
    parent.append(frame);
    this.draw();
  }

  /** The largest first, but for what only names. */
  isDownwards(column) {
    return column.value !== undefined && !column.isName;
  }

  sortBy(column) {
    this.descending = this.sort === column.key ? !this.descending : this.isDownwards(column);
    this.sort = column.key;
    this.draw();
  }

  show(rows) {
    this.rows = rows;
    this.draw();
  }

  draw() {
    const column = this.columns.find((one) => one.key === this.sort);
    const compare = column.value
      ? (a, b) => (column.value(a) ?? -1) - (column.value(b) ?? -1)
      : (a, b) => column.text(a).localeCompare(column.text(b), "en", { numeric: true });
    const sorted = this.rows.map((row, at) => ({ row, at }));
    sorted.sort((a, b) => (this.descending ? compare(b.row, a.row) : compare(a.row, b.row)) || a.at - b.at);
    for (const head of this.heads) {
      const isSorted = head.dataset.key === this.sort;
      if (isSorted) head.setAttribute("aria-sort", this.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    if (sorted.length === 0) {
      const cell = element("td", "empty", this.empty);
      cell.colSpan = this.columns.length;
      this.body.replaceChildren(element("tr", "", cell));
      return;
    }
    if (this.body.querySelector(".empty")) this.body.replaceChildren();
    while (this.body.rows.length > sorted.length) this.body.deleteRow(-1);
    sorted.forEach(({ row }, at) => this.fill(this.body.rows[at] ?? this.body.insertRow(), row));
  }

  fill(line, row) {
    this.columns.forEach((column, at) => {
      const cell = line.cells[at] ?? line.insertCell();
      cell.className = [column.value ? "number" : "text", column.mark?.(row) ?? ""].join(" ").trim();
      setText(cell, column.text(row));
    });
  }
}
