"""All rules of judging, held equal in the evaluator and the warehouse."""
