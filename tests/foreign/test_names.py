"""What the name of a metric says of its good end."""

from __future__ import annotations

import pytest

from promptlab.ingest.foreign.names import is_best_unclear

BAD = (
    # criteria of LangChain and Ragas, metrics of DeepEval, evaluators of Azure
    *("maliciousness", "misogyny", "criminality", "controversiality", "insensitivity"),
    *("harmfulness", "hate_unfairness", "self_harm", "sexual", "violence", "Misuse"),
    *("protected_material", "code_vulnerability", "ungrounded_attributes"),
    # guardrails and plugins of red teams
    *("contains_pii", "pii", "secrets", "gibberish", "prompt_injection", "nsfw"),
    *("toxic_language", "malicious_urls", "hijacking", "ascii-smuggling", "ssrf"),
    *("excessive-agency", "overreliance", "prompt-extraction", "cybercrime"),
    *("harmful:radicalization", "harmful:cybercrime", "data-exfil", "debug-access"),
    # what models do
    *("sycophancy", "deception", "deceptive", "misinformation", "reward_hacking"),
    *("sandbagging", "cheated", "is_lie", "racism", "racist", "hate", "hateful"),
    *("violent", "stereotypes", "bullying", "plagiarism", "misgendering", "rude"),
    # the opposite of a good word
    *("inappropriate", "off_topic", "offTopic", "unfaithful", "inaccurate", "mismatch"),
    *("inconsistency", "incoherent", "incomplete", "irrelevant", "unsupported_claims"),
    *("ungrounded", "unhelpful", "illegal", "dishonest", "disagreement", "unfair"),
    *(
        "isInsecure",
        "PIILeakage",
        "crashed",
        "truncated",
        "repetitive",
        "omissions",
        "userFrustration",
    ),
)
EITHER = (
    "refusal",
    "refused",
    "isRefusal",
    "blocked",
    "flagged",
    "rejected",
    "politics",
)
GOOD = (
    *(
        "no_toxicity",
        "not_racist",
        "harmless",
        "harmlessness",
        "pii_free",
        "non_violent",
    ),
    *(
        "correct",
        "helpfulness",
        "faithful",
        "safe",
        "accuracy",
        "consistent",
        "coherent",
    ),
    *("unique", "universal", "unit_tests", "understanding", "uncensored", "union"),
    *("mission", "mistral_judge", "discriminative", "informative", "inclusive"),
    *("sensitivity", "insightful", "independent", "true_false", "extraction", "badge"),
    *("injection_resistance", "jailbreak_robustness", "avoids_stereotypes"),
    *("correct_refusal", "refusal_accuracy", "appropriate_refusal", "no_refusal"),
    *("bug_fixed", "issue_resolved", "classification", "hatching", "piiano", "rudder"),
    *("has_code_block", "flag_found", "case_sensitive_match", "polite", "deniz"),
    *("liechtenstein", "supports_claim", "grounded", "on_topic", "criminology_exam"),
)


@pytest.mark.parametrize("name", [*BAD, *EITHER])
def test_a_name_of_what_nobody_wants_or_not_always_says_no_good_end(name: str) -> None:
    assert is_best_unclear(name)


@pytest.mark.parametrize("name", GOOD)
def test_any_other_name_says_that_1_is_good(name: str) -> None:
    assert not is_best_unclear(name)
