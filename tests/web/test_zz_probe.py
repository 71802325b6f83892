from uuid import uuid4
from tests.web.test_progress import agreeing, _account
from tests.web.reviews import *
from tests.web.conftest import *
from pipeline.types import DeskSettings
from datetime import datetime, timedelta, UTC
from pipeline.types import Activity
def test_probe(desk, accounts, store, server):
    desk.change_settings(_account(accounts,"dora"), DeskSettings(second_review_rate=1.0, gold_rate=0.0, audit_rate=0.0, undo_seconds=0.0))
    review_all(desk, _account(accounts,"anna"), 4, note="A sound kernel, but the tail tile is read past its end when N is odd.", reason="The loop covers the tail.")
    review_all(desk, _account(accounts,"ben"), 1, note="Line 12 races with the store.", reason="Two engines write one tile.")
    carla=_account(accounts,"carla")
    place=draw(desk,carla)
    rid=place.item.review.id
    now=datetime.now(UTC)
    for i in range(5):
        store.desk.add_activity(Activity(account="dora",review_id=rid,slot=0,started_at=now-timedelta(days=i*2,hours=1),ended_at=now-timedelta(days=i*2),active_seconds=3000-i*100))
    batch=store.list_batches()[0].id
    from pipeline.review.saved_comments import SavedComments
    SavedComments(store).save(_account(accounts,"dora"),"Say which engine runs this, and why it is the right one.",shared=True)
    SavedComments(store).save(_account(accounts,"dora"),"The tail tile is masked twice.",task_id="rmsnorm")
    from playwright.sync_api import sync_playwright
    from axe_playwright_python.sync_playwright import Axe
    with sync_playwright() as p:
        b=p.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for scheme in ("light","dark"):
          for who,paths in (("carla",[("adjudication",f"/adjudicate/{rid}"),("norming0","/norming")]),("dora",[("history",f"/history/{rid}"),("progress","/progress"),("progress_list","/progress/reviews?kind=committed"),("comments","/comments"),("timesheet","/timesheet"),("batches","/batches"),("batch",f"/batches/{batch}"),("batch_list",f"/batches/{batch}/gradings"),("norming","/norming"),]),("vera",[("checks",f"/batches/{batch}/checks"),("batchv",f"/batches/{batch}"),("batch_listv",f"/batches/{batch}/gradings")])):
            ctx=b.new_context(viewport={"width":1440,"height":900},color_scheme=scheme)
            pg=ctx.new_page()
            msgs=[]
            pg.on("console",lambda m: msgs.append(m.text)); pg.on("pageerror",lambda e: msgs.append(str(e)))
            pg.goto(server+"/login"); pg.fill("[name=name]",who); pg.fill("[name=password]",PASSWORD); pg.click("button.primary"); pg.wait_for_load_state()
            msgs.clear()
            for name,path in paths:
                r=pg.goto(server+path)
                bad=[(v["id"],v["impact"],[n["html"][:150] for n in v["nodes"]][:3]) for v in Axe().run(pg).response["violations"]]
                pg.screenshot(path=f"/tmp/g_{name}_{scheme}.png",full_page=name in("history","batch"))
                print(scheme,who,name,r.status,bad,msgs); msgs.clear()
                if name=="adjudication" and scheme=="light":
                    pg.mouse.move(300,300); pg.mouse.move(500,400)
                    pg.fill("textarea[name=note]","typed here"); pg.wait_for_selector("#saved:has-text('Saved')",timeout=20000)
                    print("SAVED",pg.inner_text("#saved"),pg.input_value("[name=seconds]"))
                    pg.reload(); print("AGAIN",pg.input_value("textarea[name=note]"))
                if name=="batch" and scheme=="light":
                    with pg.expect_response(lambda r: "/batches/" in r.url, timeout=20000) as got: pass
                    print("POLL", got.value.status); pg.wait_for_timeout(300); print("POLLED", pg.locator("#live").count(), msgs)
            ctx.close()
        b.close()
    assert 0
