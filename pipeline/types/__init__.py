"""The vocabulary: frozen models, one noun per file. Reading this package explains the product."""

from pipeline.types.batch import Batch, BatchItem, Rejection
from pipeline.types.call import Call, CallEnd, Completion, ProviderBatch, StopReason, Usage
from pipeline.types.case import Case, CaseKind, Pattern
from pipeline.types.execution import (
    BuildResult,
    CaseResult,
    Observation,
    OutputError,
    ProfileResult,
    ProgramSummary,
    RunResult,
)
from pipeline.types.fact import Fact
from pipeline.types.fault import Fault, Owner
from pipeline.types.finding import CheckReport, CheckStatus, Finding, Severity
from pipeline.types.fingerprint import Fingerprint
from pipeline.types.grade import Grade, Grading
from pipeline.types.inspection import Inspection
from pipeline.types.judge_setup import JudgeRole, JudgeSetup
from pipeline.types.judgment import (
    Citation,
    Confidence,
    FeedbackItem,
    Judgment,
    OverallGrade,
    Score,
    Struck,
    Vote,
)
from pipeline.types.model import Frozen, hash_text
from pipeline.types.prompt import Prompt
from pipeline.types.provenance import Provenance
from pipeline.types.review import Decision, Review
from pipeline.types.route import Destination, Route
from pipeline.types.rubric import Criterion, Level, Overall, Rubric, Scale
from pipeline.types.study import ErrorPicture, LineError, Study
from pipeline.types.submission import Admission, Submission
from pipeline.types.task import (
    AxisConstraint,
    Battery,
    ConstructedLevel,
    Family,
    Numerics,
    Policy,
    Solution,
    Task,
    TaskLimits,
    TensorSpec,
    Work,
)
from pipeline.types.tolerance import Tolerance
from pipeline.types.verdict import Verdict

__all__ = [
    "Admission",
    "AxisConstraint",
    "Batch",
    "BatchItem",
    "Battery",
    "BuildResult",
    "Call",
    "CallEnd",
    "Case",
    "CaseKind",
    "CaseResult",
    "CheckReport",
    "CheckStatus",
    "Citation",
    "Completion",
    "Confidence",
    "ConstructedLevel",
    "Criterion",
    "Decision",
    "Destination",
    "ErrorPicture",
    "Fact",
    "Family",
    "Fault",
    "FeedbackItem",
    "Finding",
    "Fingerprint",
    "Frozen",
    "Grade",
    "Grading",
    "Inspection",
    "JudgeRole",
    "JudgeSetup",
    "Judgment",
    "Level",
    "LineError",
    "Numerics",
    "Observation",
    "OutputError",
    "Overall",
    "OverallGrade",
    "Owner",
    "Pattern",
    "Policy",
    "ProfileResult",
    "ProgramSummary",
    "Prompt",
    "Provenance",
    "ProviderBatch",
    "Rejection",
    "Review",
    "Route",
    "Rubric",
    "RunResult",
    "Scale",
    "Score",
    "Severity",
    "Solution",
    "StopReason",
    "Struck",
    "Study",
    "Submission",
    "Task",
    "TaskLimits",
    "TensorSpec",
    "Tolerance",
    "Usage",
    "Verdict",
    "Vote",
    "Work",
    "hash_text",
]
