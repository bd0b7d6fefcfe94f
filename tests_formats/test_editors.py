"""A real Neovim shows which session wrote a line: `reread lsp` as docs/editors.md sets it up."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from making import SESSION
from test_lsp import file  # noqa: F401  (a fixture)

pytest.importorskip("pygls", reason="the extra `lsp` is not installed")
NEOVIM = shutil.which("nvim")
pytestmark = pytest.mark.skipif(NEOVIM is None, reason="Neovim is not installed: `apt-get install neovim`")

SHOW_HOVER = """
local command = vim.fn.json_decode(vim.env.SERVER)
local client = vim.lsp.start_client({ name = 'reread', cmd = command, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(0, client)
local started = vim.wait(60000, function() return vim.lsp.buf_get_clients(0)[client] ~= nil end, 50)
vim.api.nvim_win_set_cursor(0, { 2, 4 })
vim.lsp.buf.hover()
local float = nil
local shown = vim.wait(60000, function()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= '' then float = window end
  end
  return float ~= nil
end, 50)
local lines = float and vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(float), 0, -1, false) or {}
vim.fn.writefile({ vim.fn.json_encode({ started = started, shown = shown, lines = lines }) }, vim.env.SEEN)
vim.cmd('qall!')
"""


@pytest.mark.timeout(300)
def test_neovim_shows_the_hover(file: Path, tmp_path: Path) -> None:  # noqa: F811
    script, seen = tmp_path / "hover.lua", tmp_path / "seen.json"
    script.write_text(SHOW_HOVER)
    env = os.environ | {
        "SERVER": json.dumps([sys.executable, "-m", "reread", "lsp"]),
        "SEEN": str(seen),
        **{name: str(tmp_path / name.lower()) for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")},
    }
    assert NEOVIM is not None
    command = [NEOVIM, "--clean", "--headless", str(file), "-c", f"luafile {script}"]
    done = subprocess.run(command, env=env, capture_output=True, timeout=250, check=False)
    found = json.loads(seen.read_text()) if seen.exists() else {}
    assert found.get("started") and found.get("shown"), (found, done.stderr.decode()[-2000:])
    text = "\n".join(found["lines"])
    assert f"session {SESSION[:8]}" in text and "turn 2" in text and "Be shorter" in text
