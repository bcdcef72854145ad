"""The README is short, its links lead somewhere, and every agent is in the table of agents."""

import re
from pathlib import Path

import pytest

import heavytail as ht

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert [link for link in links if "generated/" not in link and not (page.parent / link).exists()] == []


def test_every_agent_is_in_the_table_of_agents() -> None:
    table = (ROOT / "docs" / "which_agent.md").read_text()
    own = [
        entry.name for entry in ht.registered("agent") if entry.builder.__module__.startswith("heavytail.")
    ]
    assert [name for name in own if f"[{name}](generated/agent/{name}.rst)" not in table] == []


def test_every_page_is_in_the_sidebar() -> None:
    lines = (ROOT / "docs" / "index.md").read_text().splitlines()
    listed = {line.rpartition("<")[2].rstrip(">") for line in lines}
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"} <= listed
