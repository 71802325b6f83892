"""What protects every request and every answer."""

from __future__ import annotations

import json
import re

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from pipeline.review.accounts import Accounts
from pipeline.store import Store
from pipeline.types import Account, Role
from pipeline.web.app import create_app
from pipeline.web.context import Context, Options
from pipeline.web.security import MAX_BODY_BYTES
from tests.web.conftest import PASSWORD, ClientFactory, form_token, log_in

CSP = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'"

PAGES = (
    "/login",
    "/queue",
    "/progress",
    "/batches",
    "/comments",
    "/norming",
    "/timesheet",
    "/admin",
    "/nothing",
)

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def unsafe_pages(app: FastAPI) -> list[tuple[str, str]]:
    """Return method and path of every route that changes something for a browser."""
    return sorted(
        (method, re.sub(r"\{[^}]*\}", "0", route.path))
        for route in app.routes
        if isinstance(route, APIRoute) and not route.path.startswith("/api/")
        for method in route.methods - {"GET", "HEAD", "OPTIONS"}
    )


@pytest.mark.parametrize("path", PAGES)
def test_every_page_has_the_headers_that_keep_foreign_content_out(client: ClientFactory, path: str) -> None:
    answer = client("dora").get(path)
    assert answer.headers["Content-Security-Policy"] == CSP
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", PAGES)
def test_no_page_has_inline_script_style_or_handlers(client: ClientFactory, path: str) -> None:
    page = client(None if path == "/login" else "dora").get(path).text
    assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>", page)
    assert "<style" not in page
    assert not re.search(r"<[^>]*\s(style|on[a-z]+)=", page)
    assert "javascript:" not in page


def test_answers_that_are_no_page_have_the_headers_too(client: ClientFactory) -> None:
    nobody = client()
    for answer in (
        nobody.get("/queue"),
        nobody.post("/draw"),
        nobody.get("/api/v1/nothing"),
        nobody.post("/login", content=b"x" * (MAX_BODY_BYTES + 1)),
        nobody.put("/queue"),
    ):
        assert answer.headers["Content-Security-Policy"] == CSP, answer.url


def test_no_unsafe_route_takes_a_request_without_the_form_token(app: FastAPI, client: ClientFactory) -> None:
    dora = client("dora")
    del dora.headers["X-CSRF-Token"]
    routes = unsafe_pages(app)
    assert ("POST", "/draw") in routes
    assert ("POST", "/login") in routes
    for method, path in routes:
        answer = dora.request(method, path)
        assert answer.status_code == 403, (method, path)
        assert "not made for the session" in answer.text


def test_another_sessions_token_opens_nothing(client: ClientFactory) -> None:
    anna, ben = client("anna"), client("ben")
    anna.headers["X-CSRF-Token"] = ben.headers["X-CSRF-Token"]
    assert anna.post("/logout").status_code == 403


@pytest.mark.parametrize("token", ["", "x", "é", "0" * 64, "\u202e"])
def test_a_made_up_token_opens_nothing(client: ClientFactory, token: str) -> None:
    anna = client("anna")
    del anna.headers["X-CSRF-Token"]
    assert anna.post("/logout", data={"csrf": token}).status_code == 403
    assert anna.get("/queue").status_code == 200


def test_the_token_is_taken_from_a_field_of_either_kind_of_form(client: ClientFactory) -> None:
    anna = client("anna")
    token = anna.headers.pop("X-CSRF-Token")
    # Both end the session; the second one's answer is the same because ending it again is harmless.
    assert anna.post("/queue/hours", data={"csrf": token, "hours": "2"}).status_code == 303
    assert anna.post("/queue/hours", files={"csrf": (None, token), "hours": (None, "3")}).status_code == 303


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://desk.test.evil.example"},
        {"Origin": "http://desk.test:81"},
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=lambda headers: " ".join(*headers.items()),
)
def test_a_request_that_another_site_started_is_refused_even_with_the_token(
    client: ClientFactory, headers: dict[str, str]
) -> None:
    assert client("anna").post("/queue/hours", headers=headers).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://desk.test", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "https://desk.test"},
        {"Origin": "https://outside.example", "X-Forwarded-Host": "outside.example"},
    ],
    ids=["own", "own behind TLS", "own behind a proxy that changes the host"],
)
def test_a_request_from_our_own_page_is_taken(client: ClientFactory, headers: dict[str, str]) -> None:
    assert client("anna").post("/queue/hours", headers=headers).status_code == 303


def test_a_body_over_two_megabytes_is_refused_in_one_sentence(client: ClientFactory) -> None:
    anna = client("anna")
    answer = anna.post("/queue/hours", content=b"hours=" + b"1" * MAX_BODY_BYTES, headers=FORM)
    assert answer.status_code == 413
    assert "more than 2 MB" in answer.text


def test_a_body_without_a_length_is_measured_as_it_comes(client: ClientFactory) -> None:
    pieces = (b"x" * 65536 for _ in range(MAX_BODY_BYTES // 65536 + 1))
    assert client("anna").post("/queue/hours", content=pieces, headers=FORM).status_code == 413


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\xff\xfe%00%ff&=&&==", "application/x-www-form-urlencoded"),
        (b"--x\r\nnonsense", "multipart/form-data; boundary=x"),
        (b"nonsense", "multipart/form-data"),
        (b"{", "application/json"),
        (b"\x00", "text/plain"),
        (b"&".join(b"a%d=1" % number for number in range(2000)), "application/x-www-form-urlencoded"),
    ],
)
def test_a_body_that_is_none_is_refused_and_breaks_nothing(
    client: ClientFactory, content: bytes, kind: str
) -> None:
    for name in ("anna", None):
        answer = client(name).post("/login", content=content, headers={"Content-Type": kind})
        assert 400 <= answer.status_code < 500
    anna = client("anna")
    assert anna.post("/queue/hours", content=content, headers={"Content-Type": kind}).status_code < 500


@pytest.mark.parametrize(
    "path",
    [
        "/%00",
        "/%ff%fe",
        "/review/%E2%80%AE/0",
        "/review/r-1/x",
        "/review/r-1/-1",
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "//evil.example",
        "/review/r-1/" + "9" * 400,
    ],
)
def test_an_address_that_is_none_is_not_found(client: ClientFactory, path: str) -> None:
    answer = client("anna").get(path)
    assert answer.status_code in (404, 303, 307), answer.text
    assert "\u202e" not in answer.text


def test_a_nonsensical_host_breaks_nothing(client: ClientFactory) -> None:
    for host in (b"[", b"a b", b"\xe9", b"x" * 5000):
        assert client("anna").get("/queue", headers={"Host": host}).status_code < 500


def test_no_schema_and_no_explorer_is_served(client: ClientFactory) -> None:
    dora = client("dora")
    for path in ("/docs", "/redoc", "/openapi.json", "/api/v1/openapi.json"):
        assert dora.get(path).status_code == 404


def test_static_files_are_cached_for_good_under_the_version_that_pages_name(client: ClientFactory) -> None:
    nobody = client()
    page = nobody.get("/login").text
    sheet = re.search(r'href="(/static/[0-9a-f]{16}/desk\.css)"', page)
    assert sheet
    answer = nobody.get(sheet[1])
    assert answer.headers["Content-Type"].startswith("text/css")
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    other = nobody.get("/static/0123456789abcdef/desk.css")
    assert other.content == answer.content
    assert other.headers["Cache-Control"] == "no-cache"
    assert nobody.get("/static/nothing.css").status_code == 404


class TestBehindAProxy:
    @pytest.fixture
    def options(self) -> Options:
        return Options(identity_header="X-Remote-User", trusted_proxies=("10.1.0.0/16",))

    def at(self, app: FastAPI, address: str, **headers: str) -> TestClient:
        return TestClient(
            app, base_url="http://desk.test", client=(address, 1), headers=headers, follow_redirects=False
        )

    def test_a_trusted_proxy_says_who_is_there(self, app: FastAPI) -> None:
        page = self.at(app, "10.1.2.3", **{"X-Remote-User": "anna"}).get("/queue")
        assert page.status_code == 200
        assert "Anna" in page.text

    @pytest.mark.parametrize("address", ["10.2.0.1", "127.0.0.1", "::1", "testclient", "::ffff:10.2.0.1"])
    def test_anybody_elses_header_says_nothing(self, app: FastAPI, address: str) -> None:
        answer = self.at(app, address, **{"X-Remote-User": "dora"}).get("/admin")
        assert answer.status_code == 303
        assert answer.headers["Location"] == "/login?next=/admin"

    def test_a_forwarded_address_does_not_make_a_stranger_trusted(self, app: FastAPI) -> None:
        headers = {"X-Remote-User": "dora", "X-Forwarded-For": "10.1.2.3", "Forwarded": "for=10.1.2.3"}
        assert self.at(app, "192.0.2.1", **headers).get("/admin").status_code == 303

    def test_somebody_without_an_account_is_told_so(self, app: FastAPI) -> None:
        answer = self.at(app, "10.1.2.3", **{"X-Remote-User": "mallory"}).get("/queue")
        assert answer.status_code == 403
        assert "no account here" in answer.text

    def test_forms_need_the_token_all_the_same(self, app: FastAPI) -> None:
        anna = self.at(app, "10.1.2.3", **{"X-Remote-User": "anna"})
        assert anna.post("/queue/hours").status_code == 403
        token = form_token(anna.get("/queue").text)
        assert anna.post("/queue/hours", headers={"X-CSRF-Token": token}).status_code == 303
        ben = self.at(app, "10.1.2.3", **{"X-Remote-User": "ben"})
        assert ben.post("/queue/hours", headers={"X-CSRF-Token": token}).status_code == 403

    def test_the_header_does_not_count_at_the_api(self, app: FastAPI) -> None:
        answer = self.at(app, "10.1.2.3", **{"X-Remote-User": "dora"}).get("/api/v1/queue")
        assert answer.status_code == 401


class TestUnderAPrefix:
    @pytest.fixture
    def options(self) -> Options:
        return Options(prefix="/desk")

    @pytest.mark.parametrize("kept", ["/desk", ""], ids=["prefix kept", "prefix removed"])
    def test_every_link_form_and_cookie_is_under_it(self, app: FastAPI, kept: str) -> None:
        anna = TestClient(app, base_url="http://desk.test", follow_redirects=False)
        answer = anna.get(f"{kept}/queue")
        assert answer.headers["Location"] == "/desk/login?next=/queue"
        login = anna.get(f"{kept}/login")
        assert "Path=/desk;" in login.headers["Set-Cookie"]
        anna.cookies.set("desk_session", login.cookies["desk_session"], path="/")
        data = {"name": "anna", "password": PASSWORD, "csrf": form_token(login.text), "next": "/queue"}
        answer = anna.post(f"{kept}/login", data=data)
        assert answer.headers["Location"] == "/desk/queue"
        anna.cookies.clear()
        anna.cookies.set("desk_session", answer.cookies["desk_session"], path="/")
        page = anna.get(f"{kept}/queue").text
        targets = re.findall(r'(?:href|src|action|hx-get)="([^"#]*)"', page)
        assert len(targets) > 5
        assert all(target.startswith("/desk/") for target in targets), targets
        style = next(target for target in targets if target.endswith("desk.css"))
        assert anna.get(style.removeprefix("/desk") if not kept else style).status_code == 200


def test_secure_cookies_can_be_set_by_this_very_host_alone(
    store: Store, app: FastAPI, accounts: Accounts
) -> None:
    context = app.state.context
    secure = create_app(Context(store, context.desk, accounts, Options(secure_cookies=True)))
    anna = TestClient(secure, base_url="https://desk.test", follow_redirects=False)
    log_in(anna, "anna")
    assert anna.get("/queue").status_code == 200
    cookie = TestClient(secure, base_url="https://desk.test").get("/login").headers["Set-Cookie"]
    assert cookie.startswith("__Host-desk_session=")
    assert {"HttpOnly", "Secure", "SameSite=lax", "Path=/"} <= set(cookie.split("; "))


def test_forms_stay_good_when_the_server_starts_again(app: FastAPI, client: ClientFactory) -> None:
    anna = client("anna")
    again = TestClient(
        create_app(app.state.context),
        base_url="http://desk.test",
        cookies=dict(anna.cookies),
        headers={"X-CSRF-Token": anna.headers["X-CSRF-Token"]},
        follow_redirects=False,
    )
    assert again.post("/queue/hours").status_code == 303


def test_what_nobody_foresaw_says_a_number_that_the_log_has_too(
    app: FastAPI, client: ClientFactory, caplog: pytest.LogCaptureFixture
) -> None:
    @app.get("/broken")
    def broken() -> None:
        raise RuntimeError("a secret path")

    anna = client("anna")
    quiet = TestClient(app, base_url="http://desk.test", raise_server_exceptions=False, cookies=anna.cookies)
    answer = quiet.get("/broken")
    number = re.search(r"error ([0-9a-f]{8})", answer.text)
    assert answer.status_code == 500
    assert number
    assert number[1] in caplog.text
    assert "secret path" not in answer.text
    assert answer.headers["Content-Security-Policy"] == CSP


def test_a_name_made_of_markup_is_shown_as_text(client: ClientFactory, accounts: Accounts) -> None:
    hostile = "<script>alert(1)</script>\x1b[31m\u202e"
    accounts.create(Account(name="mallory", role=Role.REVIEWER, display=hostile), PASSWORD)
    for page in (client("mallory").get("/queue").text, client("dora").get("/admin/accounts").text):
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)" in page
        assert "\x1b" not in page
        assert "\u202e" not in page


def test_programs_get_errors_as_json(client: ClientFactory) -> None:
    nobody, anna = client(), client("anna")
    asks = {"Accept": "application/json"}
    for answer, status in (
        (nobody.get("/queue", headers=asks), 401),
        (anna.get("/admin", headers=asks), 403),
        (anna.get("/nothing", headers=asks), 404),
        (nobody.post("/logout", headers=asks), 403),
    ):
        assert answer.status_code == status
        assert set(json.loads(answer.text)) == {"code", "message", "remedy"}
