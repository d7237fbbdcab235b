# Copyright 2026 uvms_adaptive_dynamics developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The report of a run: one file that needs no network, with every channel; input from outside
appears as text, never as markup."""
import re

import pytest
from html_page import Elements
from jinja2 import UndefinedError

from uvms_adaptive_dynamics.evaluation.report import PAGE, PAGE_PARTS, Notice, template
from uvms_adaptive_dynamics.evaluation.report_tables import ChannelRow, Table, beside, channel_rows
from uvms_adaptive_dynamics.uncertainty.answer import NOT_USABLE, Answer
from uvms_adaptive_dynamics.uncertainty.verdict import Verdict

EVIL = '<script>alert("&")</script>'
SAFE = "&lt;script&gt;alert(&#34;&amp;&#34;)&lt;/script&gt;"
VERDICT = Verdict(NOT_USABLE, (Answer("Does it fit?", NOT_USABLE, "no"),))


def page(frozen, **values):
    """The template filled with minimal content and with `values`."""
    table = Table(("head",), [("cell",)])
    given = dict(recordings="dive", frozen=frozen, subtitle=["60 s"], findings=[], channels=[],
                 verdict=VERDICT, next_steps=[], missing=[], inputs=table, errors=table,
                 held_out="", over_time=table, regimes=table, stages=table, saved=frozen,
                 groups=[], parity=[], comparison=None, blocks=[], eigenvalues=False,
                 parameters=table, solver=None, notes=[], facts=[("name", "value")],
                 measured="10%", weak="50%", data="{}", **dict.fromkeys(PAGE_PARTS, ""))
    return template().render({**given, **values})


def test_names_of_bags_joints_and_notes_are_escaped():
    """In titles, cells, attributes and captions."""
    evil = page(False, recordings=EVIL, facts=[(EVIL, EVIL)], errors=Table((EVIL,), [(EVIL,)]),
                notes=[EVIL], findings=[Notice("bad", EVIL, EVIL)],
                next_steps=[EVIL], missing=[(EVIL, EVIL)],
                channels=[ChannelRow(EVIL, "N", "ok", [], "1 %", EVIL)],
                blocks=[(EVIL, [EVIL], EVIL)])
    assert EVIL not in evil and evil.count(SAFE) == 2 + 2 + 2 + 1 + 2 + 1 + 2 + 2 + 3
    Elements(evil)


def test_powers_and_tolerances_are_typeset():
    """In sentences, not in the parts of the page that are code."""
    got = page(False, notes=["R^2 .91, 10^-12 m/s^2 +- 3"], script="1+-2^3", data='{"a": "+-"}')
    assert "R² .91, 10⁻¹² m/s² ± 3" in got and "1+-2^3" in got and '{"a": "+-"}' in got


def test_what_is_missing_is_an_error_and_no_gap():
    """A missing template variable raises an error."""
    with pytest.raises(UndefinedError):
        template().render(recordings="dive")


def test_the_page_says_whether_the_rows_were_unseen():
    """A held-out test and a learning run have different notes."""
    assert "held-out test" in page(True) and "only a held-out run" not in page(True)
    assert "only a held-out run" in page(False)


def test_the_page_says_which_noise_its_regimes_have():
    """The noise saved with the parameters, or the one that the run would save."""
    assert "saved with the parameters" in page(True) and "would save" not in page(True)
    assert "would save" in page(False)


def test_findings_stand_above_the_channels_and_settings_at_the_end():
    """Sections are in the order of a reader's questions."""
    ids = re.findall(r'<section id="(\w+)"', page(False, comparison=[], eigenvalues=True,
                                                  solver={"name": "native"}))
    assert ids == ["verdict", "findings", "channels", "stages", "predictions", "parity",
                   "parameters", "physical", "solver", "inputs", "intervals", "settings"]
    assert "Nothing was found" in page(False)
    assert "Nothing was found" not in page(False, findings=[Notice("bad", "trust", "wrong")])


@pytest.mark.parametrize("bias, rmse, text", [
    (0.00051234567, 2.5241, "0.001"), (-12.3456, 123.4, "-12.3"), (0.004, 0.0123, "0.00400"),
    (3e-9, 2e5, "0"), (0.1, None, "0.1"), (0.1, 0.0, "0.1"), (None, 1.0, "–")])
def test_a_bias_is_as_precise_as_its_rmse(bias, rmse, text):
    """It was shown with four digits of its own, of which none mattered beside the RMSE."""
    assert beside(bias, rmse) == text


def test_an_empty_channel_says_why():
    """In the table of channels, instead of figures."""
    channel = dict.fromkeys(("r2", "slope", "bias", "rmse", "coverage95", "interval_width",
                             "width_expected"))
    rows = channel_rows({"channels": {"axis_b": {
        **channel, "unit": "N m", "n": 0, "masked": 50, "trust": "doubtful",
        "masked_by": {"no effort": 48, "joint at rest": 2}}}})
    text = "".join(Elements(page(False, channels=rows)).texts)
    assert "no row counts: no effort 48, joint at rest 2" in text and "100.0 %" in text


def test_nothing_is_loaded_from_elsewhere():
    """Styles and scripts are part of the page, and ours reference nothing else."""
    parts = {name: (PAGE / file).read_text() for name, file in PAGE_PARTS.items()}
    whole = page(False, **parts)
    assert Elements(whole).loaded == []
    for name, text in parts.items():
        assert "url(" not in text and "@import" not in text and "fetch(" not in text
        assert "</script" not in text and "</style" not in text
        addresses = re.findall(r"https?://\S+", text)
        # the library's own banner
        assert addresses == (["https://github.com/leeoniya/uPlot"] if name == "plot_script" else [])


def test_the_library_stands_beside_its_licence():
    """As its licence requires, with its author's name."""
    licence = (PAGE / "uPlot.LICENSE").read_text()
    assert "MIT License" in licence and "Leon Sorokin" in licence
    assert "uPlot (v" in (PAGE / PAGE_PARTS["plot_script"]).read_text()[:100]


def test_the_page_begins_with_the_verdict():
    """The verdict comes first, in words and colour, with what to do next."""
    got = page(False, next_steps=["Move more."], missing=[("vehicle damping", "Move fast")])
    body = got[got.index("<body>"):]
    assert body.index('id="verdict" class="not-usable"') < body.index("Does it fit?") < body.index(
        "Move more.") < body.index("Move fast") < body.index("Findings")
