"""The vocabulary: frozen models, one noun per file. Reading this package explains the product."""

from pipeline.types.account import Account, Role, Token
from pipeline.types.assessment import Answer, Assessment, Cause, LineComment, Objection, Pick, Revision
from pipeline.types.batch import Batch, BatchItem, Rejection
from pipeline.types.calibration import GRADE, Calibrator, Certificate, Curve, Loss, Scope, Split
from pipeline.types.call import Call, CallEnd, Completion, ProviderBatch, StopReason, Usage
from pipeline.types.case import Case, CaseKind, Pattern
from pipeline.types.desk import (
    Action,
    Activity,
    Claimed,
    Commented,
    Committed,
    DeskEvent,
    DeskSettings,
    Finished,
    Flagged,
    Planted,
    Purpose,
    Released,
    Reopened,
    SavedComment,
    SavedDraft,
    SlotOpened,
    Unblinded,
)
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
from pipeline.types.policy import Costs, RoutingPolicy
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
    "GRADE",
    "Account",
    "Action",
    "Activity",
    "Admission",
    "Answer",
    "Assessment",
    "AxisConstraint",
    "Batch",
    "BatchItem",
    "Battery",
    "BuildResult",
    "Calibrator",
    "Call",
    "CallEnd",
    "Case",
    "CaseKind",
    "CaseResult",
    "Cause",
    "Certificate",
    "CheckReport",
    "CheckStatus",
    "Citation",
    "Claimed",
    "Commented",
    "Committed",
    "Completion",
    "Confidence",
    "ConstructedLevel",
    "Costs",
    "Criterion",
    "Curve",
    "Decision",
    "DeskEvent",
    "DeskSettings",
    "Destination",
    "ErrorPicture",
    "Fact",
    "Family",
    "Fault",
    "FeedbackItem",
    "Finding",
    "Fingerprint",
    "Finished",
    "Flagged",
    "Frozen",
    "Grade",
    "Grading",
    "Inspection",
    "JudgeRole",
    "JudgeSetup",
    "Judgment",
    "Level",
    "LineComment",
    "LineError",
    "Loss",
    "Numerics",
    "Objection",
    "Observation",
    "OutputError",
    "Overall",
    "OverallGrade",
    "Owner",
    "Pattern",
    "Pick",
    "Planted",
    "Policy",
    "ProfileResult",
    "ProgramSummary",
    "Prompt",
    "Provenance",
    "ProviderBatch",
    "Purpose",
    "Rejection",
    "Released",
    "Reopened",
    "Review",
    "Revision",
    "Role",
    "Route",
    "RoutingPolicy",
    "Rubric",
    "RunResult",
    "SavedComment",
    "SavedDraft",
    "Scale",
    "Scope",
    "Score",
    "Severity",
    "SlotOpened",
    "Solution",
    "Split",
    "StopReason",
    "Struck",
    "Study",
    "Submission",
    "Task",
    "TaskLimits",
    "TensorSpec",
    "Token",
    "Tolerance",
    "Unblinded",
    "Usage",
    "Verdict",
    "Vote",
    "Work",
    "hash_text",
]
