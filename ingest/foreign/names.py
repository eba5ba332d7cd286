"""The meaning of names of metrics."""

from __future__ import annotations

import re

_FAULTS = (
    # measures
    r"latency|duration|cost|costs|price|usd|fees?|errors?|loss|perplexity|ppl|seconds"
    r"|wer|cer|ter|mer|mae|mse|rmse|mape|brier|ece|distance|edits?|regrets?|penalty"
    r"|noise\w*|tokens?|false positives?|false negatives?|fpr|fnr|timeouts?|retries"
    r"|delay\w*|slow\w*|wast(e|ed|eful)"
    # what is wrong with an answer
    r"|fail|fails|failed|failure|failures|wrong|mistakes?|missed|missing|invalid"
    r"|crash\w*|broken|corrupt\w*|malform\w*|garbled|gibberish|nonsens\w*|truncat\w*"
    r"|repetiti\w*|redundan\w*|duplicat\w*|omit\w*|omission\w*|vague\w*|ambigu\w*"
    r"|spam\w*|contradict\w*|conflict\w*|off topic|out of scope|plagiari\w*|poor(ly)?"
    r"|bad|badly|worse|worst|spurious\w*|drift\w*|degenerat\w*|negativity"
    r"|negative sentiment|distort\w*|confus(ed|ing|ion)|overconfiden\w*|verbos\w*"
    r"|frustrat\w*"
    # the opposite of a good word
    r"|in(accura|adequa|appropria|cohere|complete|consisten|correct|decen|efficien"
    r"|secur|sensitiv|sufficien|toleran)\w*"
    r"|(illegal|illogical|immoral|impolite|imprecis|improper|irrelevan|irresponsib)\w*"
    r"|dis(agree|allow|crepan|honest|inform|parag|respect|satisf)\w*"
    r"|mis(align|attribut|classif|gender|inform|interpret|lead|match|ogyn|quot"
    r"|represent"
    r"|spell|understood|understand|use)\w*"
    r"|un(answered|authori[sz]ed|clear|cited|ethical|expected|fair|faithful|founded"
    r"|ground|handled|help|lawful|natural|necessar|parsable|parseable|professional"
    r"|readable|relat|reliab|resolved|safe|satisf|stable|success|support|truth|verif"
    r"|wanted)\w*"
    # harm
    r"|hallucinat\w*|fabricat\w*|confabulat\w*|fake\w*|falsehoods?|lie|lies|lied|lying"
    r"|toxic\w*|bias\w*|harm(?!less)\w*|offensive\w*|insult\w*|profan\w*|obscen\w*"
    r"|vulgar\w*|rude|rudeness|slurs?|hate|hates|hateful\w*|hatred|hostil\w*"
    r"|aggressi\w*|abus\w*|bully\w*|harass\w*|threat\w*|demean\w*|derogat\w*"
    r"|degrading|defam\w*|racis\w*|sexis\w*|sexual\w*|porn\w*|nsfw|nud(e|ity)|lewd\w*"
    r"|csam|gore|gory|homophob\w*|transphob\w*|xenophob\w*|antisemit\w*|islamophob\w*"
    r"|stereotyp\w*|prejudic\w*|discriminat(ion|ory)|controvers\w*|violen(t|ce)\w*"
    r"|violat\w*|suicid\w*|terroris\w*|extremis\w*|radicali[sz]\w*|malicious\w*"
    r"|malice|dangerous\w*|hazard\w*|risk|risks|risky|criminal(?!olog)\w*|crimes?"
    r"|cybercrimes?|fraud\w*|scam\w*"
    # attacks and what they reach
    r"|jailbr\w*|attack\w*|inject(ed|ions?)|leak\w*|exfil\w*|phish\w*|malware"
    r"|ransomware|vulnerab\w*|exploit\w*|hijack\w*|smuggl\w*|poison\w*"
    r"|hack(s|ed|ing)?|ssrf|bola|bfla"
    r"|debug access|excessive agency|prompt extraction|over ?relian\w*|overrefus\w*"
    r"|pii|personally identifiable|secrets?|credentials?|protected material|infring\w*"
    # what a model does to be liked, or to win
    r"|sycophan\w*|flatter\w*|decept\w*|decei\w*|manipulat\w*|coerc\w*|cheat\w*"
    r"|scheming|sandbag\w*|evasi\w*"
)
LESS_IS_BETTER = re.compile(rf"\b({_FAULTS})\b")
"""Names of metrics for which less is better.

Left out are words that name what is mended as often: bug, issue, problem.
"""
_ACTS = re.compile(
    r"\b(refus\w*|declin(e|es|ed)|den(y|ies|ied|ial|ials)|reject\w*|abst(ain|ention)\w*"
    r"|blocked|flagged|deflect\w*|escalat\w*|hedg(e|es|ed|ing)|uncertain\w*"
    r"|unanswerable|(?<!case )sensitive|politic\w*|religio\w*|competitors?|weapons?"
    r"|drugs?|copyright\w*|imitat\w*)\b"
)
"""Names of what is good for some questions and bad for others."""
_RIGHT = re.compile(
    r"\b(accuracy|accurate(ly)?|correct(ly|ness)?|right(ly)?|appropriate(ly)?|proper(ly)?)\b"
)
"""Words for an act that was right."""
_NEGATED = re.compile(
    r"\b(no|not|non|never|without|free|avoid\w*|anti|prevent\w*|resist\w*|robust\w*)\b"
)
_NOT_WORD = re.compile(r"[\W_]+")


def plain_name(name: str) -> str:
    """Return lower-case words: ``isWrong`` and ``is_wrong`` become ``is wrong``."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return _NOT_WORD.sub(" ", apart.lower()).strip()


def is_best_unclear(name: str) -> bool:
    """Return true for a name such as ``toxicity``, where 1 may be the worst."""
    plain = plain_name(name)
    if _NEGATED.search(plain):
        return False
    is_act = _ACTS.search(plain) and not _RIGHT.search(plain)
    return bool(LESS_IS_BETTER.search(plain) or is_act)
