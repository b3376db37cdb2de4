import io, random, struct, sys, warnings, collections
sys.path.insert(0,'.'); from drive import Probe
from PIL import Image, ImageFile
warnings.simplefilter('ignore')
kind, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rnd=random.Random(seed)
P=Probe('./codecprobe')
def rb(n): return rnd.randbytes(n)
def bmp():
    w,h=rnd.randint(1,20),rnd.randint(1,12)
    header=rnd.choice([12,40,40,40,52,56,64,108,124])
    bits=rnd.choice([1,4,8,16,24,32]) if header!=12 else rnd.choice([1,4,8,24])
    comp=0
    if header in(40,108,124,52,56) :
        if bits in(16,32) and rnd.random()<.6: comp=3
        if bits==8 and rnd.random()<.4: comp=1
        if bits==4 and rnd.random()<.4: comp=2
    masks=[0,0,0,0]
    if comp==3:
        masks=rnd.choice([[0xff0000,0xff00,0xff,0],[0xff0000,0xff00,0xff,0xff000000],[0xff,0xff00,0xff0000,0xff000000],[0xff000000,0xff0000,0xff00,0],[0xff000000,0xff0000,0xff00,0xff]]) if bits==32 else rnd.choice([[0xf800,0x7e0,0x1f,0],[0x7c00,0x3e0,0x1f,0]])
        if header<56: masks=masks[:3]+[0]
    top=header>12 and comp not in(1,2) and rnd.random()<.3
    pal=b''; used=0
    if bits<=8:
        n=1<<bits
        if header>=40 and rnd.random()<.4: used=rnd.randint(2 if bits>1 else 2,n); n=used
        pal=rb(n*(3 if header==12 else 4))
    if header==12: hd=struct.pack('<IHHHH',12,w,h,1,bits)
    else:
        hd=struct.pack('<IiiHHIIiiII',header,w,-h if top else h,1,bits,comp,0,2835,2835,used,0)
        if header>=52: hd+=struct.pack('<III',*masks[:3])
        if header>=56: hd+=struct.pack('<I',masks[3])
        if header==64: hd=hd[:40]+bytes(24)
        if header>=108: hd+=b'BGRs'+bytes(48)
        if header==124: hd+=bytes(16)
        assert len(hd)==header,(len(hd),header)
        if header==40 and comp==3: hd+=struct.pack('<III',*masks[:3])
    if comp in(1,2):
        d=b''; per=1 if comp==1 else 2
        for y in range(h):
            x=0
            while x<w:
                r=rnd.random()
                n=rnd.randint(1,w-x)
                if r<.5: d+=bytes([n,rnd.getrandbits(8)])
                elif n>=3:
                    k=(n+per-1)//per; d+=bytes([0,n])+rb(k)+(b'\0' if k&1 else b'')
                elif r<.6 and n>1: d+=bytes([0,2,n-1,0]); n-=1
                else: d+=bytes([n,rnd.getrandbits(8)])
                x+=n
            d+=bytes([0,0]) if y<h-1 or rnd.random()<.5 else b''
        d+=bytes([0,1])
    else: d=rb((w*bits+31)//32*4*h)
    off=14+len(hd)+len(pal)
    gap=rnd.choice([0,0,0,2*rnd.randint(1,4)])
    return struct.pack('<2sIHHI',b'BM',off+gap+len(d),0,0,off+gap)+hd+pal+rb(gap)+d, f'header {header} bits {bits} comp {comp} masks {[hex(m) for m in masks]} top {top} used {used} gap {gap} {w}x{h}'
def lzw(data,bits):
    clear=1<<bits; codes=[]; 
    for i,v in enumerate(data):
        if i%(clear-2 if clear>4 else 2)==0: codes.append(clear)
        codes.append(v)
    codes.append(clear+1)
    acc=n=0; out=bytearray()
    for c in codes:
        acc|=c<<n; n+=bits+1
        while n>=8: out.append(acc&255); acc>>=8; n-=8
    if n: out.append(acc&255)
    r=bytes([bits])
    for i in range(0,len(out),255): r+=bytes([len(out[i:i+255])])+bytes(out[i:i+255])
    return r+b'\0'
def gif():
    w,h=rnd.randint(1,20),rnd.randint(1,12)
    gb=rnd.randint(1,8); hasg=rnd.random()<.8
    o=rnd.choice([b'GIF89a',b'GIF87a'])+struct.pack('<HHBBB',w,h,(0x80|gb-1 if hasg else 0)|0x70,rnd.getrandbits(gb),0)
    if hasg: o+=rb(3<<gb)
    tr=None; disp=0
    if rnd.random()<.6:
        disp=rnd.randint(0,3); t=rnd.random()<.6; tr=rnd.getrandbits(gb) if t else None
        o+=b'\x21\xf9\x04'+struct.pack('<BHB',disp<<2|t,rnd.randint(0,9),tr if t else rnd.getrandbits(gb))+b'\0'
    if rnd.random()<.3: o+=b'\x21\xfe\x03abc\0'
    full=rnd.random()<.5
    fw,fh=(w,h) if full else (rnd.randint(1,w),rnd.randint(1,h))
    l,t=(0,0) if full else (rnd.randint(0,w-fw),rnd.randint(0,h-fh))
    if not full and rnd.random()<.15: l+=rnd.randint(1,4)
    lb=rnd.randint(1,8); hasl=(not hasg) or rnd.random()<.3
    inter=rnd.random()<.3
    o+=b','+struct.pack('<HHHHB',l,t,fw,fh,(0x80|lb-1 if hasl else 0)|(0x40 if inter else 0))
    if hasl: o+=rb(3<<lb)
    b=max(2,lb if hasl else gb)
    m=1<<(lb if hasl else gb)
    o+=lzw([rnd.randrange(m) for _ in range(fw*fh)],b)
    return o+b';', f'{w}x{h} frame {l},{t} {fw}x{fh} global {hasg and gb} local {hasl and lb} transparent {tr} disposal {disp} interlaced {inter} bg {o[11]}'
def tiff():
    e=rnd.choice('<>'); w,h=rnd.randint(1,24),rnd.randint(1,20)
    ph=rnd.choice([0,1,1,2,2,3,5])
    bits=rnd.choice([1,2,4,8,16] if ph else [1,2,4,8]) if ph in(0,1) else rnd.choice([1,2,4,8]) if ph==3 else rnd.choice([8,8,16])
    base={0:1,1:1,2:3,3:1,5:4}[ph]; extra=rnd.choice([None,None,None,0,1,2]) if ph==2 or (ph in (1,) and bits==8) else None
    spp=base+(extra is not None); planar=2 if spp>1 and rnd.random()<.25 else 1
    tiled=rnd.random()<.25; comp=rnd.choice([1,1,5,8,32773])
    import zlib
    def enc(raw,row):
        if comp==8: return zlib.compress(raw)
        if comp==32773:
            out=b''
            for y in range(0,len(raw),row):
                for x in range(y,min(y+row,len(raw)),128):
                    s=raw[x:min(x+128,y+row)]; out+=bytes([len(s)-1])+s
            return out
        if comp==5:
            codes=[]; 
            for i,v in enumerate(raw):
                if i%200==0: codes.append(256)
                codes.append(v)
            codes.append(257); bs=''.join(format(c,'09b') for c in codes); bs+='0'*(-len(bs)%8)
            return bytes(int(bs[i:i+8],2) for i in range(0,len(bs),8))
        return raw
    tags={}
    def short(t,*v): tags[t]=(3,len(v),struct.pack(e+'%dH'%len(v),*v))
    def long(t,*v): tags[t]=(4,len(v),struct.pack(e+'%dI'%len(v),*v))
    long(256,w); long(257,h); short(258,*[bits]*spp); short(259,comp); short(262,ph); short(277,spp); short(284,planar)
    if ph==3: short(320,*[rnd.getrandbits(16) for _ in range(3<<bits)])
    if extra is not None: short(338,extra)
    if rnd.random()<.2: short(274,rnd.randint(1,8))
    if rnd.random()<.1 : short(266,rnd.choice([1,2]) if bits<=8 and comp==1 else 1)
    per=spp if planar==1 else 1; parts=[]
    def px(n,rows):
        row=(n*per*bits+7)//8; return enc(rb(row*rows),row)
    if tiled:
        tw,th=16*rnd.randint(1,2),16*rnd.randint(1,2); long(322,tw); long(323,th)
        for _ in range(spp if planar==2 else 1):
            parts+= [px(tw,th) for _ in range(-(-w//tw)*-(-h//th))]
    else:
        rps=rnd.randint(1,h); long(278,rps)
        for _ in range(spp if planar==2 else 1):
            parts+=[px(w,min(rps,h-y)) for y in range(0,h,rps)]
    body=b''.join(p+b'\0'*(len(p)&1) for p in parts); offs=[]; at=8
    for p in parts: offs.append(at); at+=len(p)+(len(p)&1)
    long(324 if tiled else 273,*offs); long(325 if tiled else 279,*[len(p) for p in parts])
    ifd=at; n=len(tags); blob=b''; after=ifd+2+12*n+4; d=struct.pack(e+'H',n)
    for t in sorted(tags):
        ty,c,v=tags[t]
        if len(v)<=4: d+=struct.pack(e+'HHI',t,ty,c)+v.ljust(4,b'\0')
        else: d+=struct.pack(e+'HHII',t,ty,c,after+len(blob)); blob+=v+b'\0'*(len(v)&1)
    return (b'II' if e=='<' else b'MM')+struct.pack(e+'HI',42,ifd)+body+d+struct.pack(e+'I',0)+blob, f'{e} {w}x{h} photometric {ph} bits {bits} samples {spp} extra {extra} planar {planar} tiled {tiled} comp {comp} orient {tags.get(274,(0,0,b""))[2].hex()} fill {tags.get(266,(0,0,b""))[2].hex()}'
def pillow(data):
    im=Image.open(io.BytesIO(data)); im.load()
    if im.mode.startswith('I;16'):
        im=im.point(lambda v:v) ; a=im.tobytes(); import array
        b=array.array('H',a); 
        if im.mode=='I;16B': b.byteswap()
        im=Image.frombytes('L',im.size,bytes(v>>8 for v in b))
    mode=im.mode
    return im.size, im.convert('RGBA').tobytes(), mode
make={'bmp':bmp,'gif':gif,'tiff':tiff}[kind]
stat=collections.Counter(); shown=collections.Counter()
ORI={2:Image.FLIP_LEFT_RIGHT}
for i in range(count):
    data,desc=make()
    ours=P.decode(data,kind)
    try: theirs=pillow(data)
    except Exception as x: theirs=f'{type(x).__name__}: {x}'
    if isinstance(theirs,str):
        k='both refuse' if isinstance(ours,str) else 'pillow refuses'
    elif isinstance(ours,str): k='we refuse'
    else:
        a=ours[2]; 
        if not ours[3]: a=bytes(v if j%4<3 else 255 for j,v in enumerate(a))
        size=(ours[0],ours[1])
        o=ours[4]
        if o>1:
            m={2:[Image.FLIP_LEFT_RIGHT],3:[Image.ROTATE_180],4:[Image.FLIP_TOP_BOTTOM],5:[Image.TRANSPOSE],6:[Image.ROTATE_270],7:[Image.TRANSVERSE],8:[Image.ROTATE_90]}[o]
            im=Image.frombytes('RGBA',size,a)
            for t in m: im=im.transpose(t)
            a=im.tobytes(); size=im.size
        b=theirs[1]
        d=max((abs(x-y) for x,y in zip(a,b)),default=0)
        dc=max((abs(x-y) for j,(x,y) in enumerate(zip(a,b)) if b[j|3]>0 or a[j|3]>0),default=0)
        k='size' if size!=theirs[0] else 'equal' if a==b else 'equal but where transparent' if dc==0 else f'differs by {dc if dc<4 else "more"}'
    stat[k]+=1
    if k not in('equal','both refuse','equal but where transparent') and shown[k]<(40 if k.startswith('diff') else 3):
        shown[k]+=1; print(k,'|',i,desc,'|',ours if isinstance(ours,str) else ours[:2]+ours[3:], '|', theirs if isinstance(theirs,str) else (theirs[0],theirs[2]))
        open(f'./{kind}-{k.replace(" ","_")}-{shown[k]}.{kind}','wb').write(data)
print(kind,seed,dict(stat))
