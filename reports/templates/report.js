// Finds and sorts the listed cases. The page is whole without this, and nothing from a
// result is in it: it reads texts and hides, shows and moves what is there already.
(() => {
  const tools = document.getElementById("find");
  if (!tools) return;
  const [text, status, order, count] = ["text", "status", "order", "count"].map(
    (name) => document.getElementById("find-" + name));
  const groups = [...document.querySelectorAll("#cases .cases")].map((box) => ({
    box,
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
  const holds = (item, wanted) => {
    item.words ??= item.row.textContent.toLowerCase();
    return item.words.includes(wanted);
  };
  const show = () => {
    const wanted = text.value.trim().toLowerCase();
    let shown = 0;
    for (const { box, cases } of groups) {
      let inBox = 0;
      for (const item of cases) {
        const fits = (!status.value || item.row.dataset.status === status.value)
          && (!wanted || holds(item, wanted));
        item.row.hidden = !fits;
        inBox += fits;
      }
      box.hidden = !inBox && Boolean(wanted || status.value);
      shown += inBox;
    }
    count.textContent = shown.toLocaleString("en");
  };
  const sort = () => {
    for (const { box, cases } of groups) {
      const sorted = order.value ? [...cases].sort(orders[order.value]) : cases;
      box.querySelector("h3").after(...sorted.map((item) => item.row));
    }
  };
  text.addEventListener("input", show);
  status.addEventListener("change", show);
  order.addEventListener("change", sort);
  // A link to a case that is hidden shows all again.
  window.addEventListener("hashchange", () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target?.closest("[hidden]")) {
      text.value = status.value = "";
      show();
      target.scrollIntoView();
    }
  });
  tools.hidden = false;
})();
