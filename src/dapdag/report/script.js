"use strict";
(() => {
  const source = document.getElementById("graph-data");
  const graph = document.getElementById("graph");
  const panel = document.getElementById("node-panel");
  const choice = document.getElementById("node-choice");

  // Folded parts are printed as well, and folded again afterwards.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((part) => { part.open = false; }));

  // A region that does not scroll is no stop for the keyboard.
  const settle = () => document.querySelectorAll(".scroll").forEach((box) => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  });
  addEventListener("resize", settle);
  document.querySelectorAll("details").forEach((part) => part.addEventListener("toggle", settle));
  settle();

  // Every table can be copied as text, or taken away as CSV.
  const cells = (table) => [...table.rows].map((row) => [...row.cells].map((c) => c.textContent.trim()));
  // Programs want a plain minus, and no thin spaces between digits.
  const plain = (text) => text.replaceAll("\u2212", "-").replaceAll("\u202f", "");
  const csv = (rows) => rows.map((row) => row.map((text) => (
    /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text
  )).join(",")).join("\n") + "\n";
  const button = (label, name, action) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = label;
    made.setAttribute("aria-label", label + ": " + name);
    made.addEventListener("click", () => action(made));
    return made;
  };
  const copy = (text, made) => {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    made.textContent = done ? "Copied" : "Could not copy";
    setTimeout(() => { made.textContent = "Copy as text"; }, 1500);
  };
  const save = (text, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff" + text], { type: "text/csv" }));
    link.download = name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  document.querySelectorAll(".scroll > table").forEach((table) => {
    const name = table.caption ? table.caption.textContent.trim() : "table";
    const tools = document.createElement("div");
    tools.className = "table-tools";
    tools.append(
      button("Copy as text", name, (made) => copy(cells(table).map((r) => r.join("\t")).join("\n"), made)),
      button("CSV", name, () => save(plain(csv(cells(table))), name)),
    );
    table.parentElement.after(tools);
  });

  if (!source || !graph || !panel || !choice) return;
  document.documentElement.classList.add("scripted");
  const variables = JSON.parse(source.textContent);
  const nodes = [...graph.querySelectorAll(".node")];
  const edges = [...graph.querySelectorAll(".edge")];
  let chosen = -1;

  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    if (className) made.className = className;
    return made;
  };

  const list = (title, className, items, none) => {
    const parts = [element("h5", title, className)];
    if (!items.length) return [...parts, element("p", none)];
    const all = element("ul");
    items.forEach(({ name, strength }) => {
      const item = element("li");
      item.append(element("span", name), element("span", strength));
      all.append(item);
    });
    return [...parts, all];
  };

  const tell = (variable) => {
    const kind = variable.label ? "the label, " + variable.kind : variable.kind;
    const parts = [
      element("h4", variable.name),
      element("p", kind),
      ...list("Parents (strength)", "in", variable.parents, "none: nothing points here"),
      ...list("Children (strength)", "out", variable.children, "none: it points nowhere"),
    ];
    if (variable.environment !== null) {
      parts.push(element("h5", "Environment"));
      const how = variable.ringed ? "acts strongly here" : "acts weakly here";
      parts.push(element("p", how + ": " + variable.environment + " sd per unit of E."));
      if (variable.effects.length) {
        parts.push(element("p", "Over the range of the sources:"));
        variable.effects.forEach((text) => parts.push(element("p", text)));
      }
    }
    panel.replaceChildren(...parts);
  };

  const choose = (k) => {
    chosen = k;
    graph.classList.toggle("choosing", k >= 0);
    const near = new Set();
    edges.forEach((edge) => {
      const from = Number(edge.dataset.from);
      const to = Number(edge.dataset.to);
      edge.classList.toggle("in", to === k);
      edge.classList.toggle("out", from === k);
      if (to === k) near.add(from);
      if (from === k) near.add(to);
    });
    nodes.forEach((node, i) => {
      node.classList.toggle("chosen", i === k);
      node.classList.toggle("near", near.has(i));
      node.setAttribute("aria-pressed", String(i === k));
    });
    choice.value = k >= 0 ? String(k) : "";
    if (k >= 0) tell(variables[k]);
    else panel.replaceChildren();
  };

  const centre = (node) => {
    const box = node.getBBox();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };

  // The nearest node in the direction of the key; sideways distance counts double.
  const neighbour = (k, dx, dy) => {
    const [x, y] = centre(nodes[k]);
    let best = -1;
    let least = Infinity;
    nodes.forEach((node, i) => {
      const [a, b] = centre(node);
      const along = (a - x) * dx + (b - y) * dy;
      const aside = Math.abs((a - x) * dy) + Math.abs((b - y) * dx);
      if (i !== k && along > 1 && along + 2 * aside < least) {
        least = along + 2 * aside;
        best = i;
      }
    });
    return best;
  };

  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  nodes.forEach((node, k) => {
    const variable = variables[k];
    const names = (items) => items.map((item) => item.name).join(", ") || "none";
    node.setAttribute("role", "button");
    node.setAttribute("tabindex", "0");
    node.setAttribute("aria-pressed", "false");
    node.setAttribute("aria-controls", "node-panel");
    node.setAttribute("aria-label", variable.name + (variable.label ? ", the label" : "") +
      ". Parents: " + names(variable.parents) + ". Children: " + names(variable.children) + ".");
    node.addEventListener("click", () => choose(chosen === k ? -1 : k));
    node.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        choose(chosen === k ? -1 : k);
      } else if (event.key === "Escape") {
        choose(-1);
      } else if (arrows[event.key]) {
        const next = neighbour(k, ...arrows[event.key]);
        if (next >= 0) nodes[next].focus();
      } else {
        return;
      }
      event.preventDefault();
    });
  });
  choice.addEventListener("change", () => choose(choice.value === "" ? -1 : Number(choice.value)));
})();
