import numpy as np
exec(open('sim.py').read().split('def run')[0])
def lens(c,x,y,C):
    z=unit(x-c); return np.linalg.norm(np.stack([z[y==k].mean(0) for k in range(C)]),axis=1)
def run(n,spread,C=10,d=32,draws=200,modes=('loo','loogen','fold','foldgen')):
    out={k:[] for k in modes}; acts=[]
    for _ in range(draws):
        mid=rng.normal(0,1,(C,d))+1
        y=np.repeat(np.arange(C),n); x=mid[y]+spread*rng.normal(0,1,(C*n,d))
        yt=np.repeat(np.arange(C),100); xt=mid[yt]+spread*rng.normal(0,1,(C*100,d))
        c,m=train(x,y,C); acts.append((ans(c,m,xt).argmax(1)==yt).mean()); L=np.linalg.norm(m,axis=1)
        N=len(y); r={k:0 for k in out}
        for kind,folds in (('loo',np.arange(N)),('fold',np.arange(N)%min(10,n))):
            for f in np.unique(folds):
                t=folds==f; c1,m1=train(x[~t],y[~t],C); z=unit(x[t]-c1); s=z@m1.T; L1=np.linalg.norm(m1,axis=1)
                r[kind]+=((s/L1).argmax(1)==y[t]).sum(); r[kind+'gen']+=((s/L).argmax(1)==y[t]).sum()
        for k in out: out[k].append(r[k])
    acts=np.array(acts); N=C*n; zq=1.959963984540054
    for k in out:
        p=np.array(out[k])/N; mid=p+zq*zq/2/N; h=zq*np.sqrt(p*(1-p)/N+zq*zq/4/N/N); w=1+zq*zq/N
        lo,hi=(mid-h)/w,(mid+h)/w
        print(f"C={C} n={n} spread={spread} {k:8} acc={acts.mean():.3f} diff={100*(p-acts).mean():+.2f} held={((acts>=lo-1e-12)&(acts<=hi+1e-12)).mean():.3f}",flush=True)
for n,dr in ((5,200),(20,60),(2,200)):
    for s in (1.0,1.5,2.0,3.0): run(n,s,draws=dr)
for s in (0.7,1.5): run(5,s,C=3)
