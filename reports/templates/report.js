// Finds, sorts and walks the listed cases. The page is whole without this, and nothing
// from a result is in it: it reads texts and hides, shows and moves what is there.
(() => {
  const tools = document.getElementById("find");
  const byId = (name) => document.getElementById("find-" + name);
  const names = ["text", "status", "change", "tag", "low", "order"];
  const fields = tools ? names.map(byId).filter(Boolean) : [];
  const value = (name) => byId(name)?.value ?? "";
  const groups = [...document.querySelectorAll("#cases .cases")].map((box) => ({
    box,
    count: box.querySelector("h3 .count"),
    whole: box.querySelector("h3 .count").textContent,
    cases: [...box.querySelectorAll(".case")].map((row) => ({
      row,
      id: row.querySelector("summary .id").textContent,
      score: row.dataset.score === "" ? -1 : Number(row.dataset.score),
      words: null,
    })),
  }));
  const orders = {
    up: (a, b) => a.score - b.score,
    down: (a, b) => b.score - a.score,
    id: (a, b) => a.id.localeCompare(b.id, undefined, { numeric: true }),
  };
  const listed = (list, number) => !number || list.split(" ").includes(number);
  const fits = (item, wanted) => {
    const { status, state, tags, low } = item.row.dataset;
    const change = value("change");
    if (value("status") && status !== value("status")) return false;
    if (change && !(change === "all" ? state : state === change)) return false;
    if (!listed(tags, value("tag")) || !listed(low, value("low"))) return false;
    item.words ??= item.row.textContent.toLowerCase();
    return item.words.includes(wanted);
  };
  const show = () => {
    const wanted = value("text").trim().toLowerCase();
    const any = fields.some((field) => field.value && field.id !== "find-order");
    let shown = 0;
    for (const { box, cases, count, whole } of groups) {
      let inBox = 0;
      for (const item of cases) {
        item.row.hidden = !fits(item, wanted);
        inBox += !item.row.hidden;
      }
      box.hidden = !inBox && any;
      count.textContent = any ? inBox + " / " + whole : whole;
      const sorted = orders[value("order")] ? [...cases].sort(orders[value("order")]) : cases;
      box.querySelector("h3").after(...sorted.map((item) => item.row));
      shown += inBox;
    }
    byId("count").textContent = shown.toLocaleString("en");
  };
  const keep = () => {
    const chosen = fields.filter((f) => f.value)
      .map((f) => f.id.slice(5) + "=" + encodeURIComponent(f.value));
    history.replaceState(null, "", "#" + (chosen.join("&") || "cases"));
    show();
  };
  const read = () => {
    const hash = location.hash.slice(1);
    if (hash.includes("=")) {
      const given = new URLSearchParams(hash);
      for (const field of fields) field.value = given.get(field.id.slice(5)) ?? "";
      return show();
    }
    const target = hash && document.getElementById(decodeURIComponent(hash));
    if (!target) return;
    if (target.closest("[hidden]")) clear();
    const around = target.closest("details");
    if (around) around.open = true;
    target.scrollIntoView();
  };
  const clear = () => {
    for (const field of fields) field.value = "";
    show();
  };
  const walk = (step) => {
    const rows = [...document.querySelectorAll("#cases .case:not([hidden]) > summary")];
    const at = rows.indexOf(document.activeElement.closest?.(".case")?.querySelector("summary"));
    rows[Math.min(rows.length - 1, Math.max(0, at + step))]?.focus();
  };
  const help = () => {
    byId("help").hidden = !byId("help").hidden;
    byId("keys").ariaExpanded = String(!byId("help").hidden);
  };
  const copied = (row, what) => {
    if (what === "id") return row.querySelector("summary .id").textContent;
    if (what === "json")
      return ".case_results[] | select(.case_id == " + JSON.stringify(copied(row, "id")) + ")";
    if (what === "link") return location.toString().split("#")[0] + "#" + row.querySelector(".body").id;
    return (row.querySelector(".after .answer") ?? row.querySelector(".answer"))?.textContent ?? "";
  };
  document.addEventListener("click", (event) => {
    const what = event.target.dataset?.copy;
    if (what) navigator.clipboard?.writeText(copied(event.target.closest(".case"), what));
  });
  if (!tools) return;
  // One bar of buttons goes along with the case that was opened last.
  document.addEventListener("toggle", (event) => {
    if (!event.target.matches(".case[open]") || !navigator.clipboard) return;
    event.target.querySelector(".body").prepend(byId("copy"));
    byId("copy").hidden = false;
  }, true);
  document.addEventListener("keydown", (event) => {
    const inField = /INPUT|SELECT|TEXTAREA/.test(event.target.tagName);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && inField) { clear(); keep(); return event.target.blur(); }
    if (inField) return;
    const inCases = document.activeElement.closest?.("#cases");
    if (event.key === "/") byId("text").focus();
    else if (event.key === "?") help();
    else if (event.key === "ArrowDown" && inCases) walk(1);
    else if (event.key === "ArrowUp" && inCases) walk(-1);
    else return;
    event.preventDefault();
  });
  for (const field of fields)
    field.addEventListener(field.id === "find-text" ? "input" : "change", keep);
  byId("keys").addEventListener("click", help);
  window.addEventListener("hashchange", read);
  tools.hidden = false;
  read();
})();
