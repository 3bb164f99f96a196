"""What a browser would find in a piece of HTML: its elements with their attributes, and its text."""

from html.parser import HTMLParser

_VOID = {"br", "hr", "img", "input", "meta", "wbr", "col"}


class Reading(HTMLParser):
    """HTML that was read: each tag is closed in the order in which it was opened, or the test fails."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(str(html))  # of Markup, each slice would be escaped again
        self.close()
        assert self._open == []

    @property
    def tags(self) -> set[str]:
        return {tag for tag, _ in self.elements}

    @property
    def attributes(self) -> set[str]:
        return {name for _, attributes in self.elements for name in attributes}

    @property
    def classes(self) -> set[str]:
        return {name for _, attributes in self.elements for name in attributes.get("class", "").split()}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self._open += [] if tag in _VOID else [tag]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")
