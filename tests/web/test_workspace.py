from __future__ import annotations
import re
from tests.web.conftest import *
def test_x(client, desk, accounts):
    anna=client("anna")
    r=anna.post("/draw",data={"key":"k1"})
    print(r.status_code,r.headers.get("location"))
    r=anna.get(r.headers["location"])
    open("/tmp/f_desk/page.html","w").write(r.text)
    assert r.status_code==200,r.text[:3000]
