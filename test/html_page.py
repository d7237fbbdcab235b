"""A page as a browser reads it: elements that close in order, what it would load, its texts."""
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "path", "hr", "input"}


class Elements(HTMLParser):
    """Checks that elements close in order; collects what a browser would load, and texts."""

    def __init__(self, text):
        super().__init__()
        self.open, self.loaded, self.texts = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.loaded += [value for name, value in attrs if name in ("src", "href", "srcset")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(data)
