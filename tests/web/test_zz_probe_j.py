import json, re, pytest, time
from tests.web.conftest import *
from tests.web.items import *
from tests.web.api_caller import Caller
from fastapi.testclient import TestClient
OUT=[]
def say(*a): 
    print(*a, flush=True)

def test_probe(app, client, accounts, store, desk):
    anna = client("anna"); ben=client("ben"); carla=client("carla"); dora=client("dora"); vera=client("vera")
    def ck(tag, r, ok=(200,303,400,401,403,404,405,409,413,422,429)):
        if r.status_code>=500 or r.status_code not in ok: say("!!", tag, r.status_code, r.text[:300])
        return r
    place = desk.draw(accounts.find("anna"), key="aaaa")
    rid=place.item.review.id
    base=f"/review/{rid}/{place.slot}"
    # weird bodies on form routes
    posts=[base+x for x in ("/draft","/save","/commit","/skip","/flag","/preview","/final","/undo")]+["/draw",f"/queue/{rid}/0/undo",f"/queue/{rid}/0/hand-back","/queue/hours","/comments","/login","/logout",f"/adjudicate/{rid}",f"/adjudicate/{rid}/draft","/norming","/norming/x/y/join","/comments/x/use"]
    bodies=[
     (b"a=1","multipart/form-data"),
     (b"--x\r\nbad","multipart/form-data; boundary=x"),
     (b"--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\xff\xfe\r\n--x--","multipart/form-data; boundary=x; charset=bogus"),
     (b"--x\r\nContent-Disposition: form-data\r\n\r\nhi\r\n--x--","multipart/form-data; boundary=x"),
     (b"--x\r\nContent-Disposition: form-data; name=\"a\"; filename=\"f\"\r\n\r\nhi\r\n--x--","multipart/form-data; boundary=x"),
     (b"x"*100,"multipart/form-data; boundary="+"y"*500),
     (b"csrf=%ff%fe%00&key=%00%ff&lease_id=%ed%a0%80&level.accumulation=9999999999&note=%00","application/x-www-form-urlencoded"),
     (b"&".join(b"a%d=1"%i for i in range(6000)),"application/x-www-form-urlencoded"),
     (b"{}","application/json"),
     (b"[" * 100000,"application/json"),
     (b"\xff","text/plain"),
     (b"","application/x-www-form-urlencoded"),
     (b"=&=&==;;","application/x-www-form-urlencoded"),
    ]
    for name,c in (("anna",anna),("ben",ben),("carla",carla),("dora",dora)):
        for p in posts:
            if "logout" in p: continue
            for b,ct in bodies:
                try: ck((name,p,b[:20],ct[:30]), c.post(p, content=b, headers={"content-type":ct}))
                except Exception as e: say("EXC",name,p,b[:20],ct[:40],type(e),str(e)[:200])
                try: ck(("nocsrf",name,p,b[:20],ct[:30]), c.post(p, content=b, headers={"content-type":ct,"x-csrf-token":""}))
                except Exception as e: say("EXCn",name,p,b[:20],ct[:40],type(e),str(e)[:200])
    # GETs with weird
    gets=["/review/%00/0","/review/%ff/0","/review/x/99999999999999999999","/history/%00","/history/%ed%a0%80","/history/..%2f..","/batches/%00","/batches/%ed%a0%80/gradings","/norming/%00","/norming/%00/%00","/adjudicate/%00","/adjudicate/%F0%9F%98%80","/admin/accounts/%00","/static/%00","/static/../../etc/passwd","/static/..%2f..%2fetc/passwd","/static//etc/passwd","/comments?edit=%00","/comments/suggest?task=%00%ff","/timesheet/mine.csv?since=99999-01-01","/timesheet/mine.csv?since=0001-01-01","/timesheet/mine.csv?since=9999-12-31","/timesheet/everybody.csv?since=0001-01-01",
      "/queue?nothing=zzz","/queue?done=%00","/login?next=//evil","/login?next=/%5cevil","/login?next=%00", base+"?mode=%00", base+"?mode=source:..%2f", base+"/code?mode=diff:x", base+"?said=%00", "/progress","/progress/reviews?criterion=%00","/batches/x/gradings?start=-1","/"]
    for name,c in (("anna",anna),("dora",dora),("vera",vera)):
        for g in gets:
            try: ck((name,g), c.get(g))
            except Exception as e: say("EXC",name,g,type(e),str(e)[:300])
            for m in ("HEAD","OPTIONS","PUT","DELETE","PATCH","TRACE"):
                try: ck((name,m,g), c.request(m,g))
                except Exception as e: say("EXC",name,m,g,type(e),str(e)[:300])
    # headers
    for h in ({"cookie":"desk_session="+"a"*300},{"cookie":"desk_session=\xff"},{"authorization":"Bearer \xff\xfe"},{"authorization":"Bearer"},{"host":"[::1"},{"host":"]["},{"origin":"http://[","x-csrf-token":"x"},{"x-csrf-token":"\xe9"},{"x-have-code":"%ff%00"},{"accept":"application/json"},{"hx-request":"1"}):
        for c in (anna,):
            for m,p in (("GET",base),("POST",base+"/draft"),("GET","/api/v1/queue")):
                try: ck((h,m,p), c.request(m,p,headers={k.encode():v.encode("latin-1") for k,v in h.items()}))
                except Exception as e: say("EXC",h,m,p,type(e),str(e)[:300])

    # API
    tok={n:accounts.issue_token(accounts.find(n),"t") for n in PEOPLE}
    api=TestClient(app, base_url="http://desk.test", follow_redirects=False)
    deep="["*500+"]"*500
    vals=['NaN','Infinity','-Infinity','1e400','-1','1'+'0'*400,'1'+'0'*5000,'"\\ud800"','"\\u0000"','null','[]','{}',deep,"["*990+"]"*990,'"'+'x'*1500000+'"','true','"1"','1e9','0.1', '{"\\ud800":1}','{"a":NaN}']
    routes=[r for r in app.routes if getattr(r,"path","").startswith("/api/v1")]
    n=0
    for r in routes:
        path=r.path.replace("{review_id}",rid).replace("{slot}","0").replace("{name}","ben").replace("{batch_id}","b").replace("{comment_id}","c").replace("{sha256}","a"*64)
        for m in r.methods:
            if m in ("GET","DELETE"): 
                for who in ("anna","dora"):
                    for q in ("?limit=99999999999999999999","?cursor=%00","?cursor=////","?cursor=e30","?since=%00","?limit=NaN","?format=x","?names=2"):
                        try: ck((m,path,q), api.request(m,path+q,headers={"authorization":"Bearer "+tok[who]}))
                        except Exception as e: say("EXC",m,path,q,type(e),str(e)[:300])
                continue
            fld=r.body_field
            names=[]
            if fld is not None:
                mod=fld.field_info.annotation if hasattr(fld,'field_info') else None
                names=list(getattr(mod,'model_fields',{}).keys())
            good={"lease_id":place.lease_id,"revision":1,"stage":"blind","assessment":{},"rubric":place.item.rubric,"seconds":1,"key":"keykeykey1","reason":"r","skip":False,"levels":{},"label":"x","text":"t","role":"reviewer","password":"p"*20,"name":"zed","program":"argilla","records":[],"hours_tonight":1}
            for who in ("anna","dora"):
                for v in vals:
                    bodies=[v]
                    for nm in names:
                        obj={k:x for k,x in good.items() if k in names and k!=nm}
                        s=json.dumps(obj); s=s[:-1]+(", " if len(obj) else "")+json.dumps(nm)+":"+v+"}"
                        bodies.append(s)
                    if "assessment" in names:
                        for inner in ('answers','comments','objections','note','passed','feedback'):
                            obj={k:x for k,x in good.items() if k in names and k!="assessment"}
                            s=json.dumps(obj)[:-1]+',"assessment":{"%s":%s}}'%(inner,v); bodies.append(s)
                        for inner in ('{"answers":{"accumulation":{"level":%s}}}','{"answers":{"accumulation":{"level":1,"reason":%s}}}','{"comments":[{"first_line":%s,"last_line":1,"text":"x"}]}','{"comments":[{"first_line":1,"last_line":%s,"text":"x"}]}','{"feedback":[{"part":"works","text":%s}]}','{"objections":[{"check":%s,"reason":"r"}]}'):
                            obj={k:x for k,x in good.items() if k in names and k!="assessment"}
                            s=json.dumps(obj)[:-1]+',"assessment":%s}'%(inner%v); bodies.append(s)
                    for b in bodies:
                        n+=1
                        if len(b)>1000000 and n%7: continue
                        try: ck((who,m,path,b[:160]), api.request(m,path,content=b.encode(),headers={"authorization":"Bearer "+tok[who],"content-type":"application/json"}), ok=(200,201,204,400,401,403,404,405,409,413,422,429))
                        except Exception as e: say("EXC",who,m,path,b[:160],type(e),str(e)[:300])
    say("api requests",n)
