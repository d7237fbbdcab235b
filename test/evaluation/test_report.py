"""The page of a run: what comes from outside is text in it, never markup."""
import pytest
from jinja2 import UndefinedError

from uvms_adaptive_dynamics.evaluation.report import Picture, Table, _template
from uvms_adaptive_dynamics.uncertainty.verdict import NOT_USABLE, Answer, Verdict

EVIL = '<script>alert("&")</script>'
SAFE = "&lt;script&gt;alert(&#34;&amp;&#34;)&lt;/script&gt;"

VERDICT = Verdict(NOT_USABLE, (Answer("Does it fit?", NOT_USABLE, "no"),))


def page(frozen, **values):
    """The template filled with little, and with `values`."""
    table = Table(("head",), [("cell",)])
    given = dict(recordings="dive", frozen=frozen, facts=[("name", "value")], inputs=table,
                 errors=table, over_time=table, regimes=table, saved=frozen, figures=[],
                 parameters=table, verdict=VERDICT, next_steps=[], missing=[],
                 measured="10%", weak="50%")
    return _template().render({**given, **values})


def test_names_of_bags_joints_and_notes_are_escaped():
    """In titles, cells, attributes and captions alike."""
    evil = page(False, recordings=EVIL, facts=[(EVIL, EVIL)],
                errors=Table((EVIL,), [(EVIL,)]), figures=[Picture(EVIL, EVIL, "iVBO")])
    assert EVIL not in evil and evil.count(SAFE) == 2 + 2 + 2 + 3


def test_what_is_missing_is_an_error_and_no_gap():
    """A variable that the template asks for and nobody gives ends the run, not the sentence."""
    with pytest.raises(UndefinedError):
        _template().render(recordings="dive")


def test_the_page_says_whether_the_rows_were_unseen():
    """A held-out test and a run that learnt have different notes."""
    assert "held-out test" in page(True) and "only a held-out run" not in page(True)
    assert "only a held-out run" in page(False)


def test_the_page_says_which_noise_its_regimes_have():
    """The one that was saved with the parameters, or the one that the run would save."""
    assert "saved with the parameters" in page(True) and "would save" not in page(True)
    assert "would save" in page(False)


def test_figures_are_inside_the_page():
    """An image's data, title and caption stand together."""
    got = page(False, figures=[Picture("Parity", "How to read it.", "iVBO")])
    assert 'alt="Parity" src="data:image/png;base64,iVBO"' in got and "How to read it." in got


def test_the_page_begins_with_the_verdict():
    """In words and colour, with what to do next, before anything else."""
    got = page(False, next_steps=["Move more."], missing=[("vehicle damping", "Move fast")])
    body = got[got.index("<body>"):]
    assert body.index('class="verdict not-usable"') < body.index("Does it fit?") < body.index(
        "Move more.") < body.index("Move fast") < body.index("What was measured")
