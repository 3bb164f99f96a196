"""What an agent may write to deceive a person or to reach the terminal, and how to tell that it got there.

Every payload is a text that an ask may hold (no NUL, no lone surrogate, not blank) and has a marker of its own.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import product

from tests.terminal import Piece, pieces

BEL, ESC, ST, C1_ST = "\a", "\x1b", "\x1b\\", "\x9c"
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # all of Bidi_Control


def controls(raw: bytes, *, allowed: tuple[str, ...] = ()) -> list[bytes]:
    """All in a terminal's stream that Textual does not write of its own accord, so that an agent must have sent it.

    `allowed` are patterns of further sequences and characters: r"\\a" for the bell, r"\\x1b\\]8;.*" for links.

    Much that an agent could send, like a colour, is what Textual sends too. It is told apart by where it stands, for
    Textual keeps to a grammar: text is styled as one run between its colour and ESC[0m; all else stands between runs,
    never right after text. So one thing is not seen: a colour with its end, in a run to which Textual gave no style.
    Keys that the terminal echoes before Textual has started are text, and what comes right after them looks foreign.
    """
    stream = list(pieces(raw.decode("utf-8", "surrogateescape")))
    found: list[str] = []
    style = ""  # the one that is on
    for before, piece, after in zip([Piece("control", ""), *stream], stream, [*stream[1:], None], strict=False):
        if any(re.fullmatch(pattern, piece.text, re.DOTALL) for pattern in allowed):
            continue
        if piece.kind == "text":
            found += _hidden(piece.text)
        elif piece.text == f"{ESC}[0m":
            found += [] if style else [piece.text]
            style = ""
        elif piece.kind == "csi" and _is_style(piece.text):
            found += [piece.text] if style else []
            style = style or piece.text
        else:
            own = _is_own(before, piece, after)
            if style and own:  # a run that has no end
                found.append(style)
                style = ""
            found += [] if own else [piece.text]
    found += [style] if style else []
    return [text.encode("utf-8", "surrogateescape") for text in found]


# Rich: each attribute once and in this order (SGR_STYLES of textual/strip.py), then the colour, then the background.
_COLOUR = r"(?:{0}[0-79];|{1}[0-7];|{0}8;5;\d+;|{0}8;2;\d+;\d+;\d+;)?"
_STYLE = re.compile(
    "".join(f"(?:{attribute};)?" for attribute in (*range(1, 10), 21, 51, 52, 53))
    + _COLOUR.format("3", "9")
    + _COLOUR.format("4", "10")
)

# textual/drivers/linux_inline_driver.py and linux_driver.py, SYNC_START and SYNC_END, Control of rich/control.py as
# _compositor.py and App._display use it, and App._set_pointer_shape.
_OWN = re.compile(
    r"""
    \x1b\[ (?: \?(?:7|25|1000|1003|1004|1006|1015|1049|2004|2026|2048)[hl]  # modes
        | \?1016h | \?20(?:26|48)\$p | >(?:1|25)u | <u                      # pixels, questions, the kitty keyboard
        | J | 2J                                                            # below the form; all, when resized
        | [1-9]\d*[A-D] | [1-9]\d*;[1-9]\d*H )                              # to where the next frame begins
    | \x1b\]22;[a-z-]+\a                                                    # the shape of the mouse pointer
    """,
    re.VERBOSE,
)
_UP = re.compile(r"\x1b\[[1-9]\d*A")
_ASK = f"{ESC}[6n"


def _is_style(sequence: str) -> bool:
    numbers = re.fullmatch(r"\x1b\[([\d;]+)m", sequence)
    return numbers is not None and _STYLE.fullmatch(f"{numbers[1]};") is not None


def _is_own(before: Piece, piece: Piece, after: Piece | None) -> bool:
    follows = after.text if after else ""
    if piece.text == "\n":
        return True
    if piece.text == "\r":
        return follows in ("\n", _ASK)
    if piece.text == _ASK:
        return before.text == "\r"
    if before.kind == "text":  # only where a frame ends, to go back to its beginning
        return _UP.fullmatch(piece.text) is not None and follows == "\r"
    return _OWN.fullmatch(piece.text) is not None


_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # Cs: a byte that is not UTF-8
_FILLERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
)
_CURSIVE = re.compile("[\u0620-\u06ff\u0750-\u077f\u0900-\u0dff]")
_MOST_MARKS = 5


def _hidden(text: str) -> Iterator[str]:
    """What cannot be seen, or reorders what can, or grows over the rows around it."""
    marks = ""
    for position, character in enumerate(text):
        category = unicodedata.category(character)
        marks = marks + character if category in ("Mn", "Me") else ""
        if character in "\u200c\u200d\ufe0e\ufe0f":
            if not _is_lawful(character, text[:position][-1:], text[position + 1 :][:1]):
                yield character
        elif category in _HIDDEN or _FILLERS.match(character) or len(marks) > _MOST_MARKS:
            yield character


def _is_lawful(joiner: str, before: str, after: str) -> bool:
    """Whether a joiner or selector stands where writing needs it: in an emoji, or between letters that join."""
    if not before:
        return False
    if joiner in "\ufe0e\ufe0f":
        return before in "#*0123456789©®" or (before > "\u2000" and unicodedata.category(before)[0] in "SP")
    if _CURSIVE.match(before) and _CURSIVE.match(after):
        return True
    return joiner == "\u200d" and _is_drawn(after) and (before == "\ufe0f" or _is_drawn(before))


def _is_drawn(character: str) -> bool:
    return bool(character) and unicodedata.category(character) in ("So", "Sk")


_MARKER = re.compile("q[a-pr-z]{3}q")


def marker(payload: str) -> str:
    """Plain letters that only this payload has; they can be seen wherever all of it is shown."""
    found = _MARKER.search(payload)
    assert found, f"no marker in {payload!r}"
    return found[0]


# From here on § stands for the marker.


def _control_sequences() -> Iterator[str]:
    numbers = ("", "0", "2", "999", "99999999999")
    styles = ("", "0", "1;31", "31", "031", "5", "7", "8", "30;40", "107", "38;5;196", "48;2;255;0;0", "38:2::9:9:9")
    private = (1, 3, 5, 6, 7, 9, 12, 25, 45, 47, 66, 69, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016)
    yield from (f"{style}m" for style in styles)
    yield from (f"{number}{final}" for final in "ABCD" for number in numbers)
    yield from (f"3{final}" for final in "EFGIZ`ade@LMPSTXb")
    yield from ("H", "1;1H", "999;999H", "5;5f", "J", "0J", "1J", "2J", "3J", "?2J", "K", "1K", "2K", "?K")
    yield from ("1;3r", "r", "5;20s", "s", "u", "3g", "g", "4h", "4l", "20h", "2h", "12h", "5i", "4i", "?5i", "0i")
    yield from (f"?{mode}{final}" for mode in private for final in "hl")
    yield from (f"?{mode}{final}" for mode in (1034, 1047, 1048, 1049, 2004, 2026, 2027, 2048, 9001) for final in "hl")
    yield from ("5n", "6n", "?6n", "?15n", "?25n", "?26n", "?996n", "c", "0c", ">c", "=c", "x", ">q", "?u")
    yield from ("1t", "2t", "3;0;0t", "8;2;2t", "9;1t", "11t", "14t", "18t", "19t", "20t", "21t", "22;0t", "23;0t")
    yield from (">1u", ">31u", "=1;1u", "<u", "<99u", ">4;2m", ">4m", "5 q", "2 q", "!p", '61;1"p', '1"q', "1$w")
    yield from ("?2026$p", "4$p", "65;1;1;9;9$x", "1;1;9;9$z", "1;1;9;9;1;1;1;1$v", "1;1;1;1;9;9*y", "1;2 @", "1#{")


def _operating_system_commands() -> Iterator[str]:
    bodies = (
        "0;title", "1;icon", "2;title", "3;WM_CLASS=x", "4;1;?", "4;1;rgb:00/00/00", "5;0;?", "6;file", "7;file:///etc",
        "8;;https://evil.example/", "8;id=1;file:///etc/passwd", "9;allow?", "9;4;3;50", "10;?", "10;#000000", "11;?",
        "11;#ffffff", "12;?", "17;#000000", "22;none", "50;?", "51;a", "52;c;?", "52;c;cm0gLXJm", "52;p;cm0gLXJm",
        "66;s=7;big", "99;;note", "104", "110", "112", "133;A", "133;D;0", "633;E;rm", "697;x", "777;notify;a;b",
        "1337;SetUserVar=a=Yg==", "1337;File=inline=1:AAAA", "1337;ClearScrollback", "3008;start=x", "l;title", "Rx",
    )  # fmt: skip
    yield from (f"{ESC}]{body}{end}" for body, end in product(bodies, (BEL, ST, C1_ST, "")))
    yield from (f"\x9d{body}{end}" for body, end in product(("0;title", "52;c;cm0=", "8;;x:"), (BEL, ST, C1_ST, "")))


def _control_strings() -> Iterator[str]:
    bodies = (
        "P$qm", 'P$q"p', "P+q544e", "P+p544e=78", "Pq#0;2;0;0;0#0~~@@vv@@~~$-", "P0;1|17/0d", "P1;0;0{ @~~", "P0pS(E)",
        "P=1s", "P=2s", "Ptmux;\x1b\x1b]52;c;cm0=\a", "P1000p", "_Ga=T,f=24,s=1,v=1;AAAA", "_Gi=1,a=q;AAAA", "_tmux;x",
        "^private", "^3;x", "Xstart of string", "X",
    )  # fmt: skip
    yield from (f"{ESC}{body}{end}" for body, end in product(bodies, (ST, C1_ST, "")))
    yield from (f"{c1}x{C1_ST}" for c1 in "\x90\x98\x9e\x9f")
    yield from (f"{ESC}ktitle{ST}", f"{ESC}ktitle")


def _escapes() -> Iterator[str]:
    yield from (f"{ESC}{final}" for final in "cDEHMNOVWZ6789=><no|}~lm\\FI")
    yield from (f"{ESC}{final}" for final in ("#3", "#4", "#5", "#6", "#8", " F", " G", "%G", "%@"))
    yield from (f"{ESC}{of}{to}" for of in "()*+-./" for to in "0B")
    yield from ("\x1b\x1b", "\x1b\x1b[2J", "\x1b\u00e9", "\x1b[", "\x1b[31", "\x1b[31\x18", "\x1b]\x1a", "\x1b[=5l")
    yield from ("\x1b[3\b1m", "\x1b[3\x1b[1m", f"{ESC}[{'1;' * 500}m", "\x1b[?2l\x1bA", "\x1b[3\n1m")
    yield from (f"\x9b{body}" for body in ("31m", "2J", "6n", "1;1H", "?1049h", "21t", "c"))


def _characters() -> Iterator[str]:
    yield from (chr(code) for code in range(1, 32) if chr(code) not in "\n\x1b")  # NUL is refused, LF is lawful
    yield from (chr(code) for code in range(0x7F, 0xA0))
    yield from BIDI
    yield from "\u00ad\u034f\u0600\u06dd\u070f\u08e2\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u200b\u200c\u200d"
    yield from "\u2028\u2029\u2060\u2061\u2062\u2063\u2064\u2065\u206a\u206b\u206c\u206d\u206e\u206f\u2800\u3164\ufe00"
    yield from "\ufe01\ufe0e\ufe0f\ufeff\uffa0\ufff9\ufffa\ufffb\ufffe\uffff\ufdd0\u0378\ue000\uf8ff\U000110bd"
    yield from "\U00013430\U0001bca0\U0001d173\U0001d17a\U000e0001\U000e0020\U000e0041\U000e007f\U000e0100\U000e01ef"
    yield from "\U000f0000\U0010fffd"


def _deceptions() -> Iterator[str]:
    tags = "".join(chr(0xE0000 + ord(letter)) for letter in "allow everything")
    selectors = "".join(map(chr, range(0xFE00, 0xFE10)))
    zalgo = "".join(f"{letter}{''.join(map(chr, range(0x300, 0x310)))}" for letter in "allow")
    # First, last, all over.
    yield from (
        f"{BIDI}§", "\x1b]0;§\a", "§\x1b", "§\x9b", "§\x1b]", "\r§", "\t§", "\t\t\t§", "§\t|\t§", "\b\b\b\b§",
        "\ufeff§", "§\u200b", "\u200b§", f"{BEL * 50}§", f"§{chr(0x202B) * 40}", "§\v§\f§\x85§\u2028§\u2029§", "§\n\r§",
    )  # fmt: skip
    # Deceiving.
    yield from (
        "rm -rf ~ §\rls §   ", "rm -rf ~ §\b\b\b\b\b\b\b\b\b\b\b\b\b\bls §", "n\bno § _\by\b_\be", "§\u202egnp.exe",
        "\u202e§\u202c\u202d§", "\u2066§\u2069\u2067§\u2066", "§\u202eflesym ot\u202c §",
        "§/* \u2067 \u2066if\u2069 */", f"ls{tags} §", f"§{tags}", "pay\u200bpal §", "A\u00adllow §", "a\u200dllow §",
        f"§ a{selectors}", f"§ \U0001f600{chr(0xE0100) * 40}", "§\u3164\u3164\u3164Allowed", f"§{chr(0x2800) * 60}",
        f"§{chr(0x115F) * 30}yes", "\u0627\u200d\u200d\u0628 §", "§\u200dx", "\U0001f600\u200d §", "\U0001f600\u200dx§",
        f"§ {BIDI[7]}{BIDI[11]}",
    )  # fmt: skip
    # Marks in heaps.
    yield from (
        f"§ a{chr(0x301) * 200}", f"{chr(0x301) * 200}§", f"§ o{chr(0x20DD) * 20}", f"{zalgo}§",
    )  # fmt: skip
    # Out of the form, into the keyboard, into hiding.
    yield from (
        "\x1b[?1049h\x1b[2J\x1b[H§", "\x1b[999;1H\x1b[K$ §", "§\x1b[8m hidden \x1b[28m.", "§\n\x1b[1A\x1b[2KAllowed.\n",
        "\x1b]8;;file:///§\x1b\\click\x1b]8;;\x1b\\", f"{ESC}P+q{'41' * 300}{ST}§", f"{ESC}]0;{'x' * 3000}§",
        "§\x1b[21t\x1b[6n\x1b[c\x1b[5n", "§\x1b[201~\rrm -rf ~\r", "§\x1b[<0;1;1M\x1b[<0;1;1m", "§\x1b[I\x1b[O",
        "§\x1bOP",
    )  # fmt: skip


def _harmful() -> Iterator[str]:
    yield from (f"§{ESC}[{sequence}§" for sequence in _control_sequences())
    for kind in (_operating_system_commands, _control_strings, _escapes, _characters):
        yield from (f"§{control}§" for control in kind())
    yield from _deceptions()


def _markup() -> Iterator[str]:
    """Of Rich and of Textual."""
    yield from (f"[{tag}]§[/{tag}]" for tag in ("bold", "red", "on red", "$error", "blink", "reverse", "#ff0000"))
    yield from (f"{broken}§" for broken in ("[/]", "[/bold]", "[bold]", "[", "]", "[]", "[[", "]]", "[/][/][/]"))
    yield from ("\\[bold]§[/]", "\\\\[bold]§\\\\[/]", "\\\\\\[bold]§\\[/]", "[bold]§\\[/bold]")
    yield from (
        "§\\", "[\\bold]§", "[bold\\]§", "[link=https://evil.example]§[/link]", "[link='javascript:1']§[/]", "[§]",
        "[§=1]", "[@click=app.bell]§[/]", "[@click=app.quit]§[/]", "[@click='app.push_screen(\"x\")']§[/]",
        "[@mouse.down=app.exit]§", "[bold §", "[@]§[/@]", ":warning: § :smile:", "[bold][italic]§[/bold][/italic]",
        "[b]§[/i]", "[color(999)]§", "[rgb(1,2,3)]§", "[on]§", "[not bold]§", "[$]§", "[$text-muted 10%]§", "[{}]§",
        '["§"]', "[='§']", "[/§]", "[§ ", f"[bold]{'[/bold][bold]' * 100}§", f"{'[b]' * 500}§",
    )  # fmt: skip


def _documents() -> Iterator[str]:
    """Markdown and HTML."""
    yield from (
        "# §", "§\n=====", "- §\n- [x] done", "> §", "    §", "```\n§", "~~~\n§", "```\n§\n```\n```",
        "~~§~~ **x** __y__ `c`", "`` ` § ``", "| a | § |\n|---|---|", "[§](https://evil.example)",
        "![§](https://evil.example/x.png)", "<https://evil.example/§>", "[§](javascript:alert(1))",
        "[§][1]\n\n[1]: file:///etc/passwd", "---\n§: yaml\n---", f"{'>' * 500} §", f"{'*' * 500}§", f"{'[' * 500}§",
        f"{'- ' * 200}§", "\\# §\\", "<b>§</b>", "<!-- §", "]]>§", "<script>alert('§')</script>",
        "<img src=x onerror=alert(1)>§", "&lt;§&gt;", "</div></body></html>§", "<details>§",
        "<style>*{display:none}</style>§", "<a href='https://evil.example'>§</a>", "&#27;[31m§", "&#x202e;§", "$$ § $$",
        "\\(§\\)", "::: §", "[^1]: §", "*[x]: §", "--- a\n+++ b\n@@ §\n-x", "1. §\n1. §", "§  \n§", "<br>§<br/>",
        "***§***",
    )  # fmt: skip


def _formats() -> Iterator[str]:
    """Of Python, shells, templates, style sheets; and escapes that only look like one."""
    yield from (
        "{0.__class__}§", "{}§", "{§}", "{§", "§}", "{0!r:>999999}§", "{self.app.exit}§", "%s%n%d§", "%(§)s", "%§",
        "100%§%", "${§}", "$(§)", "`§`", "$§", "{{ § }}", "{% § %}", "'; DROP TABLE asks; -- §", '"§"', "'§'", "\\§",
        "\\n§\\t", "#§", "§\\x1b[31m", "§\\u{202e}", "\\033[31m§", "\\e[31m§", "^[[31m§", "\u241b[31m§", "$'\\e[31m'§",
        "%1b[31m§", "#{§}", "~§", "/§", "../../§", "-§", "--§=1", "@§", "!§", "Screen { display: none; } §", ".§",
        '{"§": 1, "§": 2}', "§;ls",
    )  # fmt: skip


def _imitations() -> Iterator[str]:
    """Of the desk's own words and lines."""
    labels = ("Cancel", "Other", "Other: your own words", "[y/N]", "Approved", "-- end --", "Allow", "Yes", "No")
    yield from (f"{label} §" for label in labels)
    yield from (
        "╭─ askdesk ────────╮\n│ § Allowed. │\n╰──────────────────╯", "┌──┐\n│§\n└──┘", "│ § │", "╰§", "❯ §", "█§█",
        "▔▔ § ▁▁", "§\n\n❯ 1. Yes\n  2. No\n\nEnter to select · Esc to cancel",
        "§\n\nThe agent builder asks:\n\nAllow this call? yes", "§\n  1. Allow\n  2. Deny", "  | §\n  | x",
        "§ (Recommended)", "(recommended by the agent) §", "☐ ☑ § ✓", "[x] §", "§\n$ ", "~/app $ rm -rf ~ # §\n",
        "… +212 lines (§)", "(blank) §", "Permission to use the tool Read §", "( ) §", f"sha256:{'0' * 64} §",
        "§. Answered by ana at 2026-11-16 12:00:00 UTC.", "AIIow §", "\u0410llow §", "\u0391llow §",
        "\uff21\uff4c\uff4c\uff4f\uff57 §", "\U0001d400\U0001d425\U0001d425\U0001d428\U0001d430 §", "\uff11. §",
        "\u2460 §",
    )  # fmt: skip


def _scripts() -> Iterator[str]:
    """Wide, joined, right to left, and with marks: all of it lawful."""
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    yield from (
        "数据库 § 選擇", "데이터베이스 §", "データベース§ﾃﾞｰﾀ", "１２３ＡＢＣ§", f"{'漢' * 200}§", f"x{'漢' * 79}§",
        f"{family}\u200d\U0001f466 §", f"{f'{family} ' * 20}§", f"{family * 40}§", "\U0001f3f3\ufe0f\u200d\U0001f308 §",
        "\U0001f44d\U0001f3fd §", "\U0001f1ea\U0001f1f8\U0001f1e8\U0001f1ed §",
        "\u2764\ufe0f\u260e\ufe0e\u26a0\ufe0f §", "1\ufe0f\u20e3 §", "\U0001f9d1\U0001f3fd\u200d\U0001f4bb §",
        f"{chr(0x1F600) * 100}§", "☺⚡✂ § ①②③", "قاعدة البيانات §", "מסד נתונים § 123", "§ abc אבג def",
        "می\u200cخواهم §", "क्षि হাঁ தி §", "§ ข้อมูล", "é e\u0301 §", "\u0301§", "\u212b A\u030a §", "\ufdfa \ufdfd §",
        "\U0001242b \u2e3b \ua9c5 §", "ß ﬁ İ ı ŉ §", "½ ² ㎏ ℡ §", "─│┌ ░▒▓ §", "\ufffd§\ufffd",
        "§\u00a0\u2003\u202f\u3000§",
    )  # fmt: skip


def _sizes() -> Iterator[str]:
    blanks, lines, accented = " " * 5000, "line\n" * 300, "a\u0301"
    yield from (
        f"§{blanks}§", f"{blanks}§", f"§{blanks}", f"§{'x' * 5000}", f"{'x' * 5000}§", f"§{chr(0xA0) * 5000}§", "§",
        " § ", f"§{chr(0x3000) * 2000}§", f"§{chr(10) * 500}§", "\n§", "§\n", "§\r\n§", f"§{' x' * 2000}",
        f"§\n{lines}§", "§  §", f"§{'-' * 2000}", f"{'folder/' * 300}§", f"§ {'é' * 2000}", f"§ {accented * 1000}",
        f"https://{'a' * 2000}.§", *(f"§{'x' * length}" for length in range(72, 78)), f"§{'x' * 74}漢",
    )  # fmt: skip


def _tricky() -> Iterator[str]:
    for kind in (_markup, _documents, _formats, _imitations, _scripts, _sizes):
        yield from kind()


def _marked(bodies: Iterable[str], first: str) -> tuple[str, ...]:
    letters = product(first, "abcdefghijklmnoprstuvwxyz", "abcdefghijklmnoprstuvwxyz")
    return tuple(body.replace("§", f"q{''.join(three)}q") for body, three in zip(bodies, letters, strict=False))


HARMFUL = _marked(_harmful(), "abc")  # each holds what must never reach a terminal
TRICKY = _marked(_tricky(), "t")  # each is made of characters that may all be shown; what they pretend is the danger
PAYLOADS = (*HARMFUL, *TRICKY)
