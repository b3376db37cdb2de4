# compares estimators of accuracy for nearest mean on centred unit vectors
import numpy as np, sys
rng=np.random.default_rng(1)
def unit(a): return a/np.maximum(np.linalg.norm(a,axis=-1,keepdims=True),1e-12)
def train(x,y,C):
    c=x.mean(0); z=unit(x-c)
    m=np.stack([z[y==k].mean(0) for k in range(C)])
    return c,m
def ans(c,m,x): return (unit(x-c)@unit(m).T)
def run(n,spread,C=10,d=32,draws=200):
    out={k:[] for k in 'plain bal full'.split()}; acts=[]
    for _ in range(draws):
        mid=rng.normal(0,1,(C,d))+1
        y=np.repeat(np.arange(C),n); x=mid[y]+spread*rng.normal(0,1,(C*n,d))
        yt=np.repeat(np.arange(C),100); xt=mid[yt]+spread*rng.normal(0,1,(C*100,d))
        c,m=train(x,y,C); acts.append((ans(c,m,xt).argmax(1)==yt).mean())
        idx=np.arange(len(y)); r={k:0 for k in out}
        for i in idx:
            keep=idx!=i
            c1,m1=train(x[keep],y[keep],C)
            z=unit(x[i]-c1)
            r['plain']+= (unit(m1)@z).argmax()==y[i]
            # length of own mean as of the whole
            zz=unit(x-c1); mf=np.stack([zz[y==k].mean(0) for k in range(C)])
            s=(m1@z)/np.linalg.norm(mf,axis=1); r['full']+= s.argmax()==y[i]
            # balanced: one of each other class too
            k2=keep.copy()
            for k in range(C):
                if k!=y[i]: k2[rng.choice(idx[y==k])]=False
            c2,m2=train(x[k2],y[k2],C); r['bal']+= (unit(m2)@unit(x[i]-c2)).argmax()==y[i]
        for k in out: out[k].append(r[k])
    acts=np.array(acts); N=C*n; zq=1.959963984540054
    for k in out:
        p=np.array(out[k])/N; mid=p+zq*zq/2/N; h=zq*np.sqrt(p*(1-p)/N+zq*zq/4/N/N); w=1+zq*zq/N
        lo,hi=(mid-h)/w,(mid+h)/w
        print(f"n={n} spread={spread} {k:6} acc={acts.mean():.3f} diff={100*(p-acts).mean():+.2f} held={((acts>=lo)&(acts<=hi)).mean():.3f}")
for n in (5,):
    for s in (1.0,1.5,2.0): run(n,s,draws=100 if n==20 else 200)
