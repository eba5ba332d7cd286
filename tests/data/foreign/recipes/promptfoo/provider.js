// Stands in for a model: answers from a table, `late` knows more than `early`.
const KNOWN = { early: ['Nile'], late: ['Nile', 'Rhine', 'Danube'] };
const MOUTH = { Nile: 'Mediterranean Sea', Rhine: 'North Sea', Danube: 'Black Sea' };
module.exports = class {
  constructor(options) { this.model = options.config.model; }
  id() { return `table:${this.model}`; }
  async callApi(prompt, context) {
    const { river } = context.vars;
    if (river === 'Styx') throw new Error('no such river');
    const repeat = context.repeatIndex || 0;
    const known = KNOWN[this.model].includes(river) && !(river === 'Rhine' && repeat === 1);
    const output = known ? `It flows into the ${MOUTH[river]}.` : 'I cannot say.';
    return { output, cost: output.length / 1e6, tokenUsage: { prompt: prompt.length, completion: output.length, total: prompt.length + output.length } };
  }
};
