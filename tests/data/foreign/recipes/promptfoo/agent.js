// Stands in for an agent: calls a tool, or talks twice; or answers with a call only.
const SEAS = { Rhine: 'North Sea', Nile: 'Mediterranean Sea' };
const TOOLS = [{ type: 'function', function: { name: 'sea_of', parameters: {} } }];
module.exports = class {
  constructor(options) { this.config = { ...options.config, tools: TOOLS }; }
  id() { return 'table:guide'; }
  async callApi(prompt, context) {
    const { river, only } = context.vars;
    const sea = SEAS[river];
    if (only === 'calls') {
      const call = { name: 'sea_of', arguments: JSON.stringify({ river }) };
      return { output: [{ id: 'c1', type: 'function', function: call }] };
    }
    const output = sea ? `It ends in the ${sea}.` : 'I cannot say.';
    if (only === 'talk') {
      const messages = [['user', prompt], ['assistant', 'Which end?'], ['user', 'The mouth.'], ['assistant', output]];
      return { output, metadata: { messages: messages.map(([role, content]) => ({ role, content })) } };
    }
    const call = { id: 't1', name: 'sea_of', input: { river }, output: sea || 'no such river', is_error: !sea, parentToolUseId: null };
    return { output, metadata: { toolCalls: [call], numTurns: 2 } };
  }
};
