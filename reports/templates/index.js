// Searches and filters the index. The page is whole without this script, and nothing
// from a result is in it: it reads texts and hides what does not match.
(() => {
  const tools = document.getElementById("find");
  if (!tools) return;
  const fields = [...tools.querySelectorAll("input, select")];
  const groups = [...document.querySelectorAll(".group")].map((box) => ({
    box, entries: [...box.querySelectorAll(".e")].map((row) => ({ row, words: "" })),
  }));
  const show = () => {
    const [text, ...marks] = fields.map((field) => field.value.trim()).filter(
      (value, at) => value || !at);
    const wanted = text.toLowerCase();
    let shown = 0;
    for (const { box, entries } of groups) {
      let inBox = 0;
      for (const entry of entries) {
        const own = entry.row.dataset.f.split(" ");
        entry.words ||= entry.row.textContent.toLowerCase();
        const fits = marks.every((mark) => own.includes(mark)) && entry.words.includes(wanted);
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
