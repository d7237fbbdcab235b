import sys; sys.path.insert(0,'/work/h/logs/test')
from pathlib import Path
import time
import ardupilot_logs as a
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.evaluation.run import evaluate
d=Path('/tmp/h/logs'); bag=d/'bag'
START=1767225600.0-30
a.write_bin(bag,d/'dive.BIN',START); a.write_tlog(bag,d/'dive.tlog',START); a.write_joints(bag,d/'joints.csv')
m1=a.write_joined(d/'dive.BIN',d/'joints.csv',d/'bin.yaml'); m2=a.write_joined(d/'dive.tlog',d/'joints.csv',d/'tlog.yaml')
res={}
for name,path,cfg in (('bag',bag,Config()),('bin',m1,Config().with_values(a.SETTINGS)),('tlog',m2,Config().with_values(a.SETTINGS))):
    t=time.time(); res[name]=evaluate([path],cfg,say=print); print(name,time.time()-t)
    print({k:(v['received'],v['used'],v['clock_offset_s'],v['latency_s']) for k,v in res[name]['inputs'].items()})
for c in res['bag']['channels']:
    print(c,*(f"{res[n]['channels'][c]['r2']:.4f}/{res[n]['channels'][c]['n']}" for n in res))
