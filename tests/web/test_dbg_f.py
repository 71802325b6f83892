from tests.web.conftest import *
from tests.web.items import *
from playwright.sync_api import sync_playwright
def test_ui(client, store, desk, server):
    code=(TASKS/"rmsnorm/solutions/good_simple.py").read_text()+"#x </div><script>window.owned=1</script> \u202e\n"
    r=enqueue(store,desk,code); pl=hand(desk,ANNA,r)
    here=server+f"/review/{r}/{pl.slot}"
    with sync_playwright() as p:
        b=p.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        ctx=b.new_context(viewport={"width":1500,"height":950}); page=ctx.new_page(); logs=[]
        page.on("console", lambda m: print("CONSOLE",m.text)); page.on("pageerror", lambda e: print("ERR "+str(e)))
        page.goto(server+"/login"); page.fill("[name=name]","anna"); page.fill("[name=password]",PASSWORD); page.get_by_role("button",name="Log in").click()
        page.goto(here); page.wait_for_selector("#workspace.scripted")
        W=lambda: page.wait_for_timeout(900)
        saved=lambda: page.locator("#saved").inner_text()
        msg=lambda: page.locator("#messages").inner_text()
        cur=lambda: page.evaluate("document.querySelector('.criterion:not([hidden])').dataset.criterion")
        print("owned",page.evaluate("window.owned"))
        page.keyboard.press("Control+Enter"); W(); print("incomplete:",msg(), page.evaluate("document.activeElement.id"))
        print(cur()); page.keyboard.press("2"); print(cur()); page.keyboard.press("u"); print(cur(), saved()); 
        page.keyboard.press("x"); print(page.evaluate("document.activeElement.id")); page.keyboard.type("because"); page.keyboard.press("Escape"); W(); print(saved())
        page.keyboard.press("g"); page.keyboard.type("30"); page.keyboard.press("Enter"); print(page.evaluate("document.querySelector('.target')?.id"))
        page.keyboard.press("/"); page.keyboard.type("dma_copy"); page.keyboard.press("Enter"); print(page.evaluate("document.querySelector('.target')?.id"), page.locator(".hit").count()); page.keyboard.press("Escape")
        page.locator("#L20 .number").click(); print(page.input_value("#new-first"), page.evaluate("document.activeElement.id")); page.keyboard.press("Escape")
        page.keyboard.press("."); W(); print(page.locator("#suggestions").inner_text())
        page.keyboard.press("o"); print(page.evaluate("document.activeElement.id")); page.keyboard.type("wrong check"); page.keyboard.press("Escape")
        page.keyboard.press("f"); page.keyboard.type("flagged text"); page.keyboard.press("Control+Enter"); W(); print(msg(), page.url)
        # two windows
        two=ctx.new_page(); two.goto(here); two.wait_for_selector("#workspace.scripted"); two.fill("#note","from two"); two.wait_for_timeout(1200)
        page.fill("#note","from one"); W(); W(); print("conflict:",msg()); page.get_by_role("button",name="Let this window count").click(); W(); print(saved(), repr(msg()), store.desk.find_draft(r,pl.slot,"anna").assessment.note)
        two.fill("#note","two again"); two.wait_for_timeout(1500); two.get_by_role("button",name="Take the other version").click(); two.wait_for_timeout(900); print(two.input_value("#note")); 
        two.fill("#note","last breath"); two.close(run_before_unload=False); page.wait_for_timeout(500); print(store.desk.find_draft(r,pl.slot,"anna").assessment.note)
        page.reload(); page.wait_for_selector("#workspace.scripted"); print(page.input_value("#note"))
        # session ended
        client("anna")
        tok=page.evaluate("document.querySelector('meta[name=csrf-token]').content")
        ctx.clear_cookies(); page.fill("#note","while logged out"); W(); W(); print("logged out:",msg())
        three=ctx.new_page(); three.goto(server+"/login"); three.fill("[name=name]","anna"); three.fill("[name=password]",PASSWORD); three.get_by_role("button",name="Log in").click(); three.wait_for_timeout(500); three.close()
        page.get_by_role("button",name="Then save again").click(); W(); print(saved(), repr(msg()), store.desk.find_draft(r,pl.slot,"anna").assessment.note)
        # offline
        ctx.set_offline(True); page.fill("#note","offline"); W(); print(saved()); 
        ctx.set_offline(False); page.wait_for_timeout(6000); print(saved(), store.desk.find_draft(r,pl.slot,"anna").assessment.note)
        ctx.set_offline(True); page.fill("#note","crashed offline"); W(); ctx.set_offline(False); page.evaluate("window.stop()")
        page2=ctx.new_page(); page.close(); page2.on("pageerror", lambda e: print("ERR2 "+str(e))); page=page2; page.goto(here); page.wait_for_selector("#workspace.scripted"); print("backup:",msg())
        if page.get_by_role("button",name="Bring it back").count(): page.get_by_role("button",name="Bring it back").click(); W(); print(page.input_value("#note"), saved())
        page.locator("#main").focus()
        for k in range(8):
            if page.evaluate("document.querySelector('.criterion:not([hidden])').dataset.asked")=="yes": page.keyboard.press("3")
            else: page.keyboard.press("j")
        page.keyboard.press("Control+Enter"); W(); W(); print(page.locator("#rubric-title").inner_text(), msg(), cur())
        page.keyboard.press("a"); print(saved()); page.keyboard.press("2"); W(); print(saved(), cur())
        page.keyboard.press("m"); print(cur(), saved())
        page.keyboard.press("4"); print(saved()); page.keyboard.press("1"); W()
        page.get_by_role("button",name="Show what the author gets").click(); W(); print(page.locator("pre.preview").inner_text()[:600])
        page.screenshot(path="/tmp/f_desk/preview.png")
        page.keyboard.press("Escape"); page.locator("#main").focus(); page.keyboard.press("Control+Enter"); W(); W(); print(page.url); 
        s=desk.place(r,pl.slot).submitted; print(s.final.answers if s and s.final else s, s.revisions, msg() if page.locator("#messages").count() else "")
        # smaller
        page.goto(server+f"/review/{r}/{pl.slot}"); page.screenshot(path="/tmp/f_desk/fin.png")
        page.set_viewport_size({"width":750,"height":475}); page.screenshot(path="/tmp/f_desk/zoom.png")
        b.close()
    assert 0
