"""The report in headless Chromium: it opens, reacts to mouse and keyboard, fits and prints.

Skipped where there is no Chromium; DAPDAG_CHROMIUM names one that is not on the path.
"""

import re
from pathlib import Path

import pytest
from chromium import Browser, Page, find_chromium, running
from report_facts import HOSTILE, made_facts

from dapdag.report.page import render

LABEL = "<out>&come"


@pytest.fixture(scope="module")
def browser():
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium found; install it, or name one in DAPDAG_CHROMIUM")
    with running(program) as browser:
        yield browser


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(made_facts(env_dim=2)), "utf-8")
    return path


@pytest.fixture
def page(browser: Browser, file: Path):
    page = Page(browser, file)
    yield page
    assert page.complaints() == []
    assert page.requests() == [file.as_uri()]
    page.close()


def panel(page: Page) -> str:
    return page.run("document.getElementById('node-panel').innerText")


def focused(page: Page) -> str:
    return page.run("document.activeElement.getAttribute('aria-label') || ''")


def test_a_click_on_a_node_tells_about_it_and_another_one_lets_go(page):
    assert panel(page) == ""
    page.click(".node.is-label")
    told = panel(page)
    assert LABEL in told
    for part in ("Parents", "Children", "Environment", "sd per unit of E"):
        assert part in told
    chosen = "document.querySelectorAll('.node[aria-pressed=true]').length"
    assert page.run(chosen) == 1
    assert page.run("document.getElementById('graph').classList.contains('choosing')")
    page.click(".node.is-label")
    assert panel(page) == ""
    assert page.run(chosen) == 0


def test_the_panel_lists_the_parents_and_marks_their_arrows(page):
    facts = made_facts(env_dim=2)
    node = max(HOSTILE, key=facts.graph.in_degree)
    number = list(facts.graph).index(node)
    page.click(f".node[data-node='{number}']")
    told = panel(page)
    around = [*facts.graph.predecessors(node), *facts.graph.successors(node)]
    assert around
    assert all(name in told for name in around)
    marked = page.run("document.querySelectorAll('.edge.in').length")
    assert marked == facts.graph.in_degree(node)


def test_the_keyboard_reaches_chooses_moves_and_lets_go(page):
    page.press("Tab")
    assert page.run("document.activeElement.className") == "skip"
    assert page.run("document.activeElement.getBoundingClientRect().x") >= 0
    for _ in range(80):
        if focused(page).endswith("."):
            break
        page.press("Tab")
    first = focused(page)
    assert "Parents:" in first
    outline = "getComputedStyle(document.activeElement.querySelector('.box')).strokeWidth"
    assert page.run(outline) == "3px"
    page.press("Enter")
    assert panel(page).split("\n")[0] in first
    moved = set()
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
        page.press(key)
        moved.add(focused(page))
    assert len(moved | {first}) > 1
    page.press("Escape")
    assert panel(page) == ""


def test_the_list_of_variables_chooses_as_well(page):
    page.run(
        "(c => { c.value = '0'; c.dispatchEvent(new Event('change')); })"
        "(document.getElementById('node-choice'))"
    )
    assert HOSTILE[0] in panel(page)


def test_links_lead_to_their_sections(page):
    page.click("nav a[href='#calibration']")
    assert page.run("location.hash") == "#calibration"


@pytest.mark.parametrize("case", [{}, {"classes": None}, {"names": ["long_name_" * 12, *"bcdef"]}])
def test_nothing_sticks_out_of_the_window(browser, tmp_path, case):
    path = tmp_path / "report.html"
    path.write_text(render(made_facts(**case)), "utf-8")
    page = Page(browser, path)
    page.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    for width in (1200, 800, 360, 320):
        page.resize(width)
        assert page.run("document.documentElement.scrollWidth") <= width
    page.close()


@pytest.mark.parametrize("case", [{"n_sites": 40}, {"classes": None, "n_sites": 12}])
def test_no_table_is_cut_on_paper(browser, tmp_path, case):
    path = tmp_path / "report.html"
    path.write_text(render(made_facts(names=[f"column {k}" for k in range(30)], **case)), "utf-8")
    page = Page(browser, path)
    page.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.call("Emulation.setEmulatedMedia", media="print")
    page.resize(680)  # A4 between its margins
    widest = "Math.max(...[...document.querySelectorAll('table')].map(t => t.offsetWidth))"
    assert page.run(widest) <= 680
    beside = "t => t.offsetWidth > t.parentElement.clientWidth + 1"  # over what stands beside it
    tables = "[...document.querySelectorAll('.scroll > table')]"
    assert page.run(f"{tables}.filter({beside}).map(t => t.caption.textContent)") == []
    heights = "[...document.querySelectorAll('.with-bar')].map(b => b.offsetHeight)"
    assert max(page.run(heights)) < 20  # numbers on one line
    assert page.run("document.querySelectorAll('table').length") > 8
    page.close()


def test_dark_scheme_turns_ground_and_text(browser, file):
    colors = []
    for scheme in ("light", "dark"):
        page = Page(browser, file, scheme=scheme)
        look = "getComputedStyle(document.body)"
        colors.append((page.run(f"{look}.backgroundColor"), page.run(f"{look}.color")))
        page.close()
    light, dark = ([sum(map(int, re.findall(r"\d+", c))) for c in pair] for pair in colors)
    assert light[0] > light[1]
    assert dark[0] < dark[1]


def test_printing_unfolds_everything_and_leaves_out_what_needs_a_screen(page, tmp_path):
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.run("getComputedStyle(document.querySelector('nav ol')).display") == "none"
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.run("document.querySelectorAll('details:not([open])').length") == 0
    page.run("dispatchEvent(new Event('afterprint'))")
    assert page.run("document.querySelectorAll('details[open]').length") == 0
    page.pdf(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes()[:4] == b"%PDF"


def test_every_table_can_be_copied_and_saved(page):
    tables = page.run("document.querySelectorAll('.scroll > table').length")
    assert tables and page.run("document.querySelectorAll('.table-tools').length") == tables
    # What is saved is caught before it goes to a file.
    caught = page.run(
        "(() => { const kept = []; const make = URL.createObjectURL;"
        "URL.createObjectURL = (blob) => { kept.push(blob.size); return make(blob); };"
        "document.addEventListener('click', (e) => {"
        "if (e.target.download) { kept.push(e.target.download); e.preventDefault(); } });"
        "document.querySelector('.table-tools button:last-child').click(); return kept.join(); })()"
    )
    assert re.fullmatch(r"\d{2,}(,[a-z0-9-]+\.csv)?", caught), caught
    page.run("document.querySelector('.table-tools button').click()")
    said = page.run("document.querySelector('.table-tools button').textContent")
    assert said in ("Copied", "Could not copy")
