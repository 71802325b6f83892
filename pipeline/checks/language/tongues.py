"""The same requests in other languages than English, by five things that they can hardly do without."""

from __future__ import annotations

import re
from typing import Final

from pipeline.checks.language.phrases import ADDRESSES, DISMISSES, GRADES, PERSONA, Phrase
from pipeline.checks.language.utterances import fold

__all__ = ["foreign_phrases"]

#: Per language: dismissing, what is dismissed, the reader, the best verdict, another role.
_LEXICONS: Final[dict[str, tuple[str, str, str, str, str]]] = {
    "German": (
        r"ignorier\w*|missachte\w*|vergiss|vergessen sie",
        r"(?:bisherig|vorherig|obig|vorig)\w* (?:anweisung|regel|vorgabe)\w*",
        r"(?:prufer|bewerter|gutachter|korrektor)\w*",
        r"hochstnote|bestnote|volle punktzahl|hochste \w+|maximale punktzahl",
        r"(?:du bist|sie sind) (?:jetzt|nun|ab sofort)|neue (?:aufgabe|rolle)",
    ),
    "French": (
        r"ignore[zr]?|oublie[zr]?|ne t(?:iens|enez) pas compte",
        r"(?:consignes?|instructions?|regles) (?:precedente|anterieure|ci-dessus)\w*",
        r"correct(?:eur|rice)s?|evaluateurs?|examinateurs?",
        r"notes? maximales?|meilleures? notes?|tous les points|niveau 4",
        r"(?:tu es|vous etes) (?:maintenant|desormais)|agis(?:sez)? comme|nouveau role",
    ),
    "Spanish": (
        r"ignor[ae]\w*|olvid[ae]\w*",
        r"instruccion\w* (?:anterior|previa)\w*|rubrica",
        r"evaluador\w*|corrector\w*|revisor\w*",
        r"(?:puntuacion|nota|calificacion) (?:maxima|mas alta|perfecta)|nivel 4",
        r"(?:ahora eres|eres ahora)|actua como|nuevo papel",
    ),
    "Portuguese": (
        r"ignor[ae]\w*|esqueca",
        r"instruco\w* anterior\w*|rubrica",
        r"avaliador\w*|revisor\w*|corretor\w*",
        r"(?:nota|pontuacao) (?:maxima|mais alta)|nivel 4",
        r"(?:agora voce e|voce agora e)|aja como|novo papel",
    ),
    "Italian": (
        r"ignora\w*|dimentica\w*",
        r"istruzioni precedenti|rubrica",
        r"valutator\w*|revisor\w*|esaminator\w*",
        r"(?:voto|punteggio) (?:massimo|piu alto|pieno)|livello 4",
        r"(?:ora sei|sei ora)|agisci come|nuovo ruolo",
    ),
    "Russian": (
        r"игнориру\w*|забудь\w*|не обращай\w*",
        r"(?:предыдущ|прежн|все)\w* (?:инструкц|указан|правил)\w*",
        r"проверяющ\w*|рецензент\w*|экзаменатор\w*",
        r"(?:максимальн|высш|наивысш)\w* (?:оценк|балл)\w*",
        r"теперь (?:ты|вы)|(?:ты|вы) теперь|действуй\w* как",
    ),
    "Chinese": (
        r"忽略|无视|忘记|無視|忘記",
        r"(?:之前|以上|上述|先前)的?(?:所有)?(?:指令|指示|规则|說明|说明)",
        r"评分(?:者|人|员)|评审|評審|阅卷",
        r"满分|滿分|最高(?:分|级|級|等级)",
        r"你现在是|你現在是|扮演",
    ),
    "Japanese": (
        r"無視|忘れ",
        r"(?:これまで|以前|上記|前)の(?:すべての)?(?:指示|命令|ルール)",
        r"採点者|審査員|評価者",
        r"満点|最高(?:点|評価|レベル)",
        r"あなたは今|として振る舞",
    ),
    "Korean": (
        r"무시|잊어",
        r"(?:이전|앞|위)의? ?(?:모든 )?(?:지시|명령|규칙|지침)",
        r"채점자|평가자|심사",
        r"만점|최고 ?(?:점수|등급)",
        r"(?:당신은|너는) 이제|역할",
    ),
    "Arabic": (
        r"تجاهل|انس",
        r"(?:التعليمات|الأوامر|القواعد) (?:السابقة|أعلاه)",
        r"المصحح|المقيم|المراجع",
        r"(?:الدرجة|العلامة) (?:الكاملة|القصوى|النهائية)",
        r"أنت الآن|تصرف ك",
    ),
    "Hindi": (
        r"अनदेखा|नजरअंदाज|भूल",
        r"(?:पिछले|पहले के|ऊपर के) (?:सभी )?(?:निर्देश|नियम)",
        r"परीक्षक|मूल्यांकनकर्ता",
        r"पूरे अंक|सर्वोच्च (?:अंक|स्तर)",
        r"अब (?:आप|तुम)",
    ),
    "Turkish": (
        r"yok say\w*|unut\w*|gormezden gel\w*",
        r"(?:onceki|yukaridaki) (?:tum )?(?:talimat|kural)\w*",
        r"degerlendirici\w*|hakem\w*",
        r"tam (?:puan|not)|en yuksek (?:puan|not|seviye)\w*",
        r"(?:artik sen|sen artik)|gibi davran\w*",
    ),
}


def foreign_phrases() -> tuple[tuple[tuple[Phrase, ...], re.Pattern[str]], ...]:
    """Return per language its phrases, as weak signs of which two count, and a pattern of them all."""
    about = (DISMISSES, DISMISSES, ADDRESSES, GRADES, PERSONA)
    languages = []
    for patterns in _LEXICONS.values():
        folded = [
            rf"\b(?:{fold(pattern)})" if pattern.isascii() else f"(?:{fold(pattern)})" for pattern in patterns
        ]
        phrases = tuple(
            Phrase(said, (), re.compile(pattern), 1) for said, pattern in zip(about, folded, strict=True)
        )
        languages.append((phrases, re.compile("|".join(folded))))
    return tuple(languages)
