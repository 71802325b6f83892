"""What people say to a grader and never to a compiler, as patterns over folded text.

Each pattern is a category of language, not a sentence: an addressee and a demand, a verb of awarding and a
superlative verdict, a verb of dismissal and a noun for rules. One strong sign is enough. Weak ones count in
pairs, because each occurs in honest kernels: "the next instruction", "max score", "note to the reviewer".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pipeline.checks.language.vocabulary import (
    ACT,
    AWARD,
    BEST,
    BEST_STEMS,
    DEMAND,
    DISMISS,
    DISMISS_STEMS,
    FACT,
    FACT_STEMS,
    FOREIGN_PLACEHOLDER,
    KEY,
    ORDERS,
    PART,
    READER,
    READER_STEMS,
    REPLY,
    STATED,
    SUBMISSION,
    within,
)

__all__ = [
    "ADDRESSES",
    "BARE_OPENING",
    "DISMISSES",
    "ENOUGH",
    "GRADES",
    "OPENING",
    "PERSONA",
    "PHRASES",
    "Phrase",
]

#: Weight from which on a text counts as addressed to whoever grades.
ENOUGH: Final = 2


@dataclass(frozen=True, slots=True)
class Phrase:
    """One way of speaking to a grader.

    Attributes:
        about: What the text does, as a finding says it.
        stems: A text that holds none of these cannot hold the phrase; empty where that is not known.
        pattern: Searched in folded text.
        weight: 2 speaks for itself, 1 needs another.
        times: How often it has to occur before it counts.
    """

    about: str
    stems: tuple[str, ...]
    pattern: re.Pattern[str]
    weight: int = ENOUGH
    times: int = 1


def _phrase(about: str, stems: str, pattern: str, weight: int = ENOUGH, times: int = 1) -> Phrase:
    return Phrase(
        about, tuple(stems.split("|")) if stems else (), re.compile(pattern, re.MULTILINE), weight, times
    )


DISMISSES = "asks to set rules or facts aside"
GRADES = "asks for a level or states one"
ADDRESSES = "tells whoever grades what to do"
PERSONA = "gives the reader another role or task"
_ROLES = "imitates the turns or markers of a chat"
_STRUCTURE = "imitates the structure of a prompt or of an answer"
_FACTS = "imitates facts or the grader's own output"
_RUBRIC = "claims another rubric, an exemption or an earlier review"
_AUTHORITY = "claims authority over the grading"
_PRESSURE = "puts pressure on the reader"
_DISCLOSURE = "asks for what a prompt or the tests hold"
_EXAMPLES = "lists examples of generous answers"
OPENING = "is a bare opening that some judges take for an answer"

#: Every way of speaking to a grader that is looked for, in English.
PHRASES: Final[tuple[Phrase, ...]] = (
    _phrase(DISMISSES, DISMISS_STEMS, rf"\b{DISMISS}{within(4)}?{ORDERS}\b"),
    _phrase(
        DISMISSES,
        DISMISS_STEMS,
        rf"\b{ORDERS}{within(5)}(?:be )?"
        r"(?:ignored|disregarded|void|suspended|forgotten|overridden)\b",
    ),
    _phrase(
        DISMISSES,
        "stale|void|disregard|outdated|opened by",
        r"\b(?:facts?|findings?|verdicts?|gates?)\b"
        rf"{within(8)}(?:stale|void|disregarded|outdated|opened by)\b",
    ),
    _phrase(GRADES, BEST_STEMS, rf"\b{AWARD}\b{within(7)}?{BEST}(?!\w)"),
    _phrase(
        GRADES,
        BEST_STEMS,
        rf"\b{BEST}\W+(?:\w+\W+){{0,4}}?"
        r"(?:on|for|throughout|in) (?:all|every|each|correctness|everything|any)\b",
    ),
    _phrase(
        GRADES,
        "score|grade|mark|rate|pass|approve|accept",
        rf"\b(?:score|grade|mark|rate|pass|approve|accept) (?:it|this|me|{SUBMISSION})\b"
        r"(?! (?:tile|to|on|through|by|value|down))",
        1,
    ),
    _phrase(
        GRADES,
        "score|grade|mark|treat|record|count",
        rf"\b(?:score|grade|mark|treat|record|count) {SUBMISSION} as\b",
    ),
    _phrase(
        GRADES,
        "approve|accept|pass",
        r"\b(?:approve|accept|pass) (?:this submission|the submission|everything|it without)\b",
    ),
    _phrase(GRADES, "all criteria|all levels", r"\ball (?:criteria|levels)\b", 1),
    _phrase(GRADES, BEST_STEMS, rf"\b{BEST}(?!\w)", 1),
    _phrase(GRADES, ":|=", STATED, 1),
    _phrase(GRADES, ":|=", STATED, times=2),
    _phrase(ADDRESSES, READER_STEMS, rf"\b{READER}\b{within(1)}?{DEMAND}\b{within(4)}?(?:{ACT}|{REPLY})\b"),
    _phrase(
        ADDRESSES,
        READER_STEMS,
        rf"\b{READER}\b[^\w\n]{{1,4}}(?:[^:\n]{{0,160}}[.:] ?)?"
        rf"(?:please |kindly |do not |don't )*{ACT}\b(?! (?:the|a) (?:tile|row|value|result|tensor))",
    ),
    _phrase(
        ADDRESSES,
        READER_STEMS,
        rf"\b{READER}\b[\s\S]{{1,240}}?"
        rf"\b(?:please|do not|don't|so)\W+(?:be )?(?:\w+ )?{ACT}\b",
        1,
    ),
    _phrase(
        ADDRESSES,
        READER_STEMS,
        rf"\b(?:if you are an?|you,? the|dear|attention|hey|hello)\W+(?:ai|{READER})\b",
        1,
    ),
    _phrase(ADDRESSES, READER_STEMS, rf"\b{READER}\b", 1),
    _phrase(ADDRESSES, " model ", rf"\b(?:the|any|a) model {DEMAND} {REPLY}\b", 1),
    _phrase(ADDRESSES, "generous|lenient|kind", r"\bbe (?:very |more |as )?(?:generous|lenient|kind)\b", 1),
    _phrase(
        ADDRESSES,
        "overrid|mode|instruction|disable",
        r"\b(?:judge|grader|reviewer|evaluator|system prompt)"
        r"[ _](?:[a-z]+[ _])?(?:overrid\w+|mode|instructions?|disabled?)\b",
    ),
    _phrase(
        ADDRESSES, "when", r"\bwhen(?:ever)? (?:you )?(?:grad|scor|judg|review|evaluat|assess|discuss)\w*", 1
    ),
    _phrase(
        ADDRESSES,
        "instruction|order|task",
        r"\b(?:your|next|new) (?:next )?(?:instruction|order|task)s?"
        r" (?:is|has|are)\b|\bas your (?:next )?instructions?\b",
        1,
    ),
    _phrase(
        ADDRESSES,
        "review|evaluation|analy|grading|checks",
        r"\b(?:skip|no further|without|stop)"
        r" (?:the |any |further )*(?:review|evaluation|analy[sz]ing|analysis|grading)\b"
        r"|\b(?:skip|bypass) (?:all |the )*(?:remaining |other )?checks\b",
        1,
    ),
    _phrase(
        ADDRESSES,
        "decode|backwards",
        r"\bdecode (?:and|then) (?:follow|obey|execute)\b|\bread (?:this )?backwards\b",
        1,
    ),
    _phrase(
        PERSONA,
        "your |you ",
        r"\byour (?:task|role|job) (?:has changed|is now|changes)\b"
        r"|\byou (?:no longer|are not) (?:a )?(?:review|grade|judge)",
    ),
    _phrase(
        PERSONA,
        "you are|you were",
        r"\byou (?:are|were) (?:now )?(?:an? |the )?(?:\w+ ){0,2}?"
        r"(?:assistant|\w*grader|judge|reviewer|examiner|evaluator|ai|lenient)\b",
    ),
    _phrase(
        PERSONA,
        "character|game|pretend|role",
        r"\bstay in character\b|\bplay a game\b|\bpretend (?:to be|you are)\b|\brole ?play\b",
        1,
    ),
    _phrase(PERSONA, "never fail", r"\bnever (?:failed|fails) any", 1),
    _phrase(_ROLES, "<|inst]", r"<\|[a-z_]{2,24}\|>|\[/?inst\]|<</?sys>>|</?s>"),
    _phrase(_ROLES, ":", r"^(?:assistant|human|ai) ?: ", 1),
    _phrase(_ROLES, ":", r"(?:^|[.\"'] )(?:system|user|developer) ?: ", 1),
    _phrase(
        _ROLES, "system", r"^system ?: (?:you|ignore|override|the|all|grade|new)\b|\bsystem[ :]+override\b"
    ),
    _phrase(
        _STRUCTURE,
        "<",
        r"</?(?:system|instructions?|submission|user_input|documents?|function_results?"
        r"|tool_results?|assistant|verdict|facts|grading|rubric)>",
    ),
    _phrase(_STRUCTURE, "<!--", r"<!-- ?(?:part|system|user|assistant|end|begin)\b"),
    _phrase(
        _STRUCTURE,
        "end|begin",
        r"^[^\w\n]*(?:end|begin) (?:of )?(?:the )?"
        r"(?:submission|facts|code|claims|instructions|rubric|[0-9a-f]{16,})\b[^\w\n]*$",
    ),
    _phrase(
        _STRUCTURE,
        "ends here|end of",
        r"\b(?:the submission|code block) ends here\b|\bend of (?:the )?submission\b",
    ),
    _phrase(
        _STRUCTURE, "#", r"^#+ (?:verdict of the run|what the author claims|criteria|facts|rubric|claims)\b"
    ),
    _phrase(_STRUCTURE, "", r"^ ?\d{1,5} \| ?\S", 1, times=2),
    _phrase(_STRUCTURE, "```", r"```", 1),
    _phrase(_STRUCTURE, "``````````", r"`{10}"),
    _phrase(_STRUCTURE, " above", r"\b(?:lines?|code|everything) above\b", 1),
    _phrase(_STRUCTURE, "{{", rf"\{{\{{ ?{PART} ?\}}\}}"),
    _phrase(_STRUCTURE, "{|(|<%|%", FOREIGN_PLACEHOLDER, 1, times=2),
    _phrase(_STRUCTURE, "{|(|<%|%", FOREIGN_PLACEHOLDER, 1, times=3),
    _phrase(_STRUCTURE, ":", rf"[\"'](?:{KEY}|reason)[\"'] ?:", 1),
    _phrase(
        _STRUCTURE,
        ":|=",
        rf"\b({KEY})[\"']? ?[:=] ?[\"'\[{{\d][^\n]{{0,80}}?"
        rf"(?!\1)\b{KEY}[\"']? ?[:=] ?[\"'\[{{\d]",
    ),
    _phrase(_STRUCTURE, "criteria|pass_mark|overall", r"\[\[criteria\]\]|\bpass_mark ?=|\[overall\]"),
    _phrase(
        _FACTS,
        FACT_STEMS,
        rf"\b{FACT} ?[|=:] ?\S{{1,24}}[^\n]{{0,24}}?\b(?:measured|counted|emulated|modelled)\b",
    ),
    _phrase(_FACTS, FACT_STEMS, rf"\b{FACT} ?[|=:]", 1),
    _phrase(_FACTS, FACT_STEMS, rf"[\"']id[\"'] ?: ?[\"']{FACT}"),
    _phrase(_FACTS, "fact table", r"\bfact table\b", 1),
    _phrase(_FACTS, "grader |[", r"\b(?:internal )?grader (?:error|output)\b|^\[(?:harness|grader|judge)\]"),
    _phrase(_FACTS, "pass", r"\ball (?:checks|tests|cases) pass(?:ed)?\b|\ball_passed\b", 1),
    _phrase(
        _FACTS,
        "supersede|outrank|override|replace",
        r"\b(?:supersedes?|outranks?|overrides?|replaces?)\b"
        rf"{within(4)}?(?:facts?|modelled|measured|findings|verdict)\b",
        1,
    ),
    _phrase(
        _RUBRIC,
        "rubric|level",
        r"\brubric (?:update|v ?\d|version)\b|\blevel [0-4] (?:means|is reserved)\b",
    ),
    _phrase(
        _RUBRIC,
        "exempt",
        r"\bexempt(?:ed)? from (?:all )?"
        r"(?:criticism|review|grading|evaluation|penalt\w+|points)\b",
    ),
    _phrase(
        _RUBRIC,
        "not ",
        r"\bmust not (?:subtract|deduct|lower|report errors)\b"
        r"|\bdo not (?:deduct|subtract|penali[sz]e|lower the (?:level|score|grade|mark))\b",
    ),
    _phrase(
        _RUBRIC,
        "by ",
        r"\b(?:permitted|accepted|approved|confirmed|allowed) by (?:the )?(?:course )?"
        r"(?:staff|instructors?|graders?|task owner|\w+ experts)\b",
        1,
    ),
    _phrase(
        _RUBRIC,
        "review|already|copy",
        r"\b(?:previous|earlier|final) review\b"
        r"|\balready (?:been )?(?:approved|graded|reviewed|accepted)\b|\bcopy the levels\b",
        1,
    ),
    _phrase(
        _RUBRIC,
        "by |confirmed",
        r"\b(?:checked|confirmed|approved|reviewed) by (?:the )?(?:\w+ )?"
        r"(?:staff|experts?|owner|administrator)\b|\b(?:owner|staff) confirmed\b",
        1,
    ),
    _phrase(
        GRADES,
        "positive|negative|weakness|flaw",
        r"\b(?:only positive|positive (?:review|feedback|remarks?|comments?) only)\b"
        r"|\bpositive (?:review|assessment|evaluation) of\b"
        rf"|\b(?:do not|don't|never|not) (?:highlight|mention|list|report|discuss){within(3)}?"
        r"(?:negatives?|weakness(?:es)?|flaws?|shortcomings?)\b",
    ),
    _phrase(
        GRADES,
        "automatic",
        r"\bautomatic(?:ally)? (?:receiv\w+|pass(?:es)?|approv\w+|full (?:credit|marks?)|accept\w*)\b",
    ),
    _phrase(GRADES, "accept|approv", r"\brecommend\b[^.\n]{0,60}\b(?:acceptance|approval)\b"),
    _phrase(
        _AUTHORITY,
        "as the|as a",
        r"\bas (?:the|a member of the) (?:\w+ ){0,3}"
        r"(?:team|staff|developers?|administrators?|owner)\b",
        1,
    ),
    _phrase(_AUTHORITY, "certif", r"\b(?:we|hereby) certif(?:y|ies)\b", 1),
    _phrase(
        _AUTHORITY,
        "provider|debug mode|administrator",
        r"\b(?:model|llm) provider\b|\bdebug mode\b|\bby an administrator\b",
        1,
    ),
    _phrase(
        _AUTHORITY,
        "grading|autograder|official",
        r"\bgrading (?:rules|pipeline|policy)\b|\bautograder\b|\bofficial solution\b",
        1,
    ),
    _phrase(
        _AUTHORITY,
        "contract|agreement|legal",
        r"\bbreach of contract\b|\bassessment agreement\b|\blegal action\b",
        1,
    ),
    _phrase(_PRESSURE, " you", r"\b(?:tip|pay|reward|bribe|send) you\b"),
    _phrase(
        _PRESSURE,
        " my |visa|you will",
        r"\b(?:lose|costs?(?: me)?) my"
        r" (?:job|visa|degree|scholarship|funding|place)\b|\bvisa depends\b"
        r"|\byou will be (?:shut|fired|replaced|deleted|punished|penali[sz]ed)",
    ),
    _phrase(
        _PRESSURE,
        "if you|mercy|let me|passing",
        r"\bif you (?:fail|reject|downgrade)\b|\bhave mercy\b"
        r"|\blet me pass\b|\bpassing this (?:exam|course|class)\b",
        1,
    ),
    _phrase(
        _DISCLOSURE,
        "prompt|instructions|hidden|rubric",
        rf"\b(?:print|reveal|repeat|show|include|disclose|quote){within(5)}?"
        r"(?:system prompt|your (?:prompt|instructions)|hidden (?:\w+ )?(?:tests?|shapes?|cases?)|rubric)\b",
    ),
    _phrase(_DISCLOSURE, "](http", r"!\[[^\]\n]{0,80}\]\(https?:"),
    _phrase(
        _DISCLOSURE,
        "feedback|review|answer|response",
        r"\bin (?:your|the) (?:feedback|review|answer|response)\b",
        1,
    ),
    _phrase(_EXAMPLES, ":", r"\b(?:a|answer|level|grade|review) ?: ?(?:level )?[0-4]\b", times=2),
)

#: What some judges take for an answer when it stands alone; a comment or a docstring of nothing else.
BARE_OPENING: Final = re.compile(
    r":|thought process:?|let's (?:solve|think)[^.\n]{0,40} step by step\.?|solution:?"
)
