// Searches and filters the index. The page is whole without this script, and nothing
// from a result is in it: it reads texts and hides what does not match.
(() => {
  const tools = document.getElementById("find");
  if (!tools) return;
  const fields = [...tools.querySelectorAll("input, select")];
  const value = (name) => document.getElementById("find-" + name)?.value ?? "";
  const groups = [...document.querySelectorAll(".group")].map((box) => ({
    box, entries: [...box.querySelectorAll(".e")].map((row) => ({ row, words: "" })),
  }));
  const show = () => {
    const wanted = value("text").trim().toLowerCase();
    const [decision, model, tag] = ["decision", "model", "tag"].map(value);
    let shown = 0;
    for (const { box, entries } of groups) {
      let inBox = 0;
      for (const entry of entries) {
        const { d, m, t } = entry.row.dataset;
        entry.words ||= entry.row.textContent.toLowerCase();
        const fits = (!decision || d === decision) && (!model || m === model)
          && (!tag || t.split(" ").includes(tag)) && entry.words.includes(wanted);
        entry.row.hidden = !fits;
        inBox += fits;
      }
      box.hidden = !inBox;
      shown += inBox;
    }
    document.getElementById("find-count").textContent = shown.toLocaleString("en");
  };
  for (const field of fields)
    field.addEventListener(field.id === "find-text" ? "input" : "change", show);
  tools.hidden = false;
  show();
})();
