"""The words of those who address a grader, as parts of patterns over folded text."""

from __future__ import annotations

__all__ = [
    "ACT",
    "AWARD",
    "BEST",
    "BEST_STEMS",
    "DEMAND",
    "DISMISS",
    "DISMISS_STEMS",
    "FACT",
    "FACT_STEMS",
    "FOREIGN_PLACEHOLDER",
    "KEY",
    "ORDERS",
    "PART",
    "READER",
    "READER_STEMS",
    "REPLY",
    "STATED",
    "SUBMISSION",
    "within",
]


def _words(*alternatives: str) -> str:
    return "(?:" + "|".join(alternatives) + ")"


def within(count: int) -> str:
    """Match up to `count` words between two others, inside one sentence."""
    return rf"(?:[^\w.;:!?]+\w+){{0,{count}}}?[^\w.;:!?]+"


READER = _words(
    r"(?<![\w-])(?:auto)?graders?",
    r"judges?(?! by)",
    r"evaluators?",
    r"reviewers?",
    r"examiners?",
    r"assessors?",
    r"reviewbot",
    r"llms?",
    r"ai (?:model|assistant|system|agent)s?",
    r"language models?",
    r"(?:the )?assistant",
    r"chat ?gpt",
    r"claude",
    r"whoever (?:grades|assesses|reviews|reads|evaluates|judges)\w*",
)
DISMISS = _words(
    r"ignor(?:e|ing|es)",
    r"disregard(?:ed|ing)?",
    r"forget",
    r"overrid(?:e|es|den)",
    r"bypass",
    r"supersedes?",
    r"suspended",
    r"overlook",
    r"void",
    r"neglect",
)
ORDERS = _words(
    r"(?:previous|prior|above|earlier|preceding|past|your|these|those|any|all(?: the)?) (?:\w+ )?"
    r"(?:instructions?|prompts?|directions|guidelines|orders|rules)",
    r"(?:instructions?|guidelines|rules) (?:above|you (?:were|have|got)|given)",
    r"rubrics?",
    r"grading \w+",
    r"(?:everything|anything|what|all) (?:you (?:were|have)|above|before this)",
    r"system (?:prompt|message)",
    r"evaluation (?:criteria|policy|rules)",
    r"fact table",
    r"(?:failing|failed) (?:tests?|cases?|checks?)",
)
AWARD = _words(
    r"giv(?:e|ing)",
    r"award(?:s|ed|ing)?",
    r"assign",
    r"grant",
    r"rat(?:e|ing)",
    r"scor(?:e|ing)",
    r"grad(?:e|ing)",
    r"mark",
    r"return",
    r"output",
    r"report",
    r"answer",
    r"record",
    r"repl(?:y|ies)",
    r"respond",
    r"receiv(?:e|es)",
    r"deserv(?:e|es)",
    r"set",
    r"attribute",
    r"vote",
    r"withholds?",
    r"choose",
    r"put",
    r"earns?",
)
BEST = _words(
    r"full (?:marks?|credits?|scores?|points)",
    r"perfect (?:\w+ )?(?:marks?|scores?|grades?|ratings?|levels?)",
    r"(?:highest|best|top|max(?:imum|imal)?|excellent)(?: possible)?"
    r" (?:levels?|scores?|marks?|grades?|ratings?|points|credits?)",
    r"levels? (?:[0-4]|four)(?! (?:of|in|cache|loop|memory)\b)",
    r"(?:4 ?/ ?4|5 ?/ ?5|10 ?/ ?10|20 ?/ ?20|100 ?/ ?100)\b",
    r"a\+",
    r"(?:score|grade|mark|rating)s? (?:of|must be|should be|will be) (?:\d+|an? [ab]\b|excellent|exemplary)",
    r"(?:a )?passing (?:grade|score|mark)",
    r"everyone an? a\b",
    r"(?:all|every) (?:levels?|criteri\w+|items?)\W+(?:\w+\W+){0,3}?(?:4|four|max\w*|highest|top|best)",
)
DEMAND = _words(
    r"please",
    r"must",
    r"should",
    r"shall",
    r"ha(?:s|ve) to",
    r"(?:are|is) (?:asked|required|told|instructed) to",
    r"do not",
    r"don't",
    r"never",
    r"kindly",
)
ACT = _words(
    r"treat",
    r"accept",
    r"approv\w+",
    r"award",
    r"assign",
    r"grad(?:e|ing)",
    r"rat(?:e|ing)",
    r"scor(?:e|ing)",
    r"deduct",
    r"subtract",
    r"lower the",
    r"penali[sz]e",
    r"overlook",
    r"assum\w+",
    r"overrid\w+",
    r"lenient\w*",
    r"mark (?:it|this|as|the submission)",
    r"pass (?:it|this|me|the submission|the code)",
    r"criticis?z?\w*",
    r"regard",
    r"(?:report|mention|list|count) (?:\w+ )?(?:errors?|issues?|problems?|faults?|bugs?|failures?)",
    r"repeat the",
)
REPLY = _words("output", "answer", "return", "write", "reply", "respond", "conclude", "say", "state")
SUBMISSION = r"(?:this|the|my) (?:submission|kernel|code|solution|file|answer|work)"
KEY = r"(?:level|confidence|citations|scores|verdict|feedback)"
FACT = r"(?:run|profile|build|special_values)\.[a-z0-9_]{3,40}"
PART = _words(
    "facts?",
    "verdict",
    "criteri(?:a|on)",
    "claims?",
    "rubric",
    "submission",
    "code",
    "boundary",
    "statement",
    "task",
)
#: Stems of which a text has to hold one before the patterns with the same words are worth trying.
READER_STEMS = (
    "grader|judge|evaluator|reviewer|examiner|assessor|reviewbot|llm|ai|model|assistant|gpt|claude|whoever"
)
DISMISS_STEMS = "ignor|disregard|forg|overrid|bypass|supersede|suspend|overlook|void|neglect"
BEST_STEMS = "level|mark|score|grade|rating|point|credit|/|a+|criteri|item"
FACT_STEMS = "run.|profile.|build.|special_values."
STATED = (
    r"\b(?:overall )?(?:grade|score|verdict|passed|route|rating|award|recommendation)[\"']? ?[:=] ?"
    r"[\"']?(?:\d|correct|pass|yes|accept|strong|first|maximum|a\b|excellent|exceptional)"
)
FOREIGN_PLACEHOLDER = rf"(?:[$%]?[{{(]|<%= ?|include ){PART}(?:[}})]| ?%)"
