from tests.web.test_progress import *
from tests.web.conftest import *
def test_probe(agreeing, client):
    p=client("dora").get("/progress").text
    import re
    print(re.findall(r'<td class="heat[^\n]{0,300}', p)[:8], p[p.index('id="people"'):][:2500])
    assert 0
