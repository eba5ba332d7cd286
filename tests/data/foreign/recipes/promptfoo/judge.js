// Judges kindly; of one river it breaks.
module.exports = class {
  id() { return 'table:judge'; }
  async callApi(prompt) {
    if (prompt.includes('broken')) return { error: 'the judge is out of order' };
    return { output: JSON.stringify({ pass: true, score: 0.8, reason: 'polite' }), tokenUsage: { total: 12, prompt: 8, completion: 4 } };
  }
};
